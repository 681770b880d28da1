import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUN_CACHE, ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { Turns } from './turns.ts'

const PACKAGE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance')
const LOOPBACK = join(ROOT, 'test/support/loopback.cjs')

export type Requirements = '2025-11-25' | '2026-07-28'
/** The side of MCP that is under test. */
export type Leg = 'server' | 'client'

/** Scenarios run besides the scored ones: the suite runs them and does not count them. */
const BEYOND_THE_SCORE: Readonly<Record<Requirements, Readonly<Record<Leg, readonly string[]>>>> = {
  '2025-11-25': {
    server: ['server-session-lifecycle', 'json-schema-2020-12'],
    client: ['json-schema-2020-12-preservation'],
  },
  '2026-07-28': {
    server: ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation'],
    client: ['json-schema-2020-12-preservation'],
  },
}

export interface SuiteRun {
  readonly exitCode: number
  readonly output: string
  readonly scenarios: ReadonlyMap<string, { readonly passed: number; readonly failed: number }>
  /** Per scenario its checks that failed, `id: message` each. */
  readonly failures: ReadonlyMap<string, readonly string[]>
}

/** The scenarios of the tasks extension, which the suite runs and does not count. */
export function taskScenarios(): readonly string[] {
  const yaml = readFileSync(join(PACKAGE, 'requirements/2026-07-28.yaml'), 'utf8')
  return [...yaml.matchAll(/^\s+- scenario: (tasks-[\w-]+)$/gm)].map(match => match[1] ?? '')
}

/** Runs one scenario of the server leg, also one that belongs to an extension. */
export async function runServerScenario(url: string, scenario: string): Promise<SuiteRun> {
  const chosen = ['--scenario', scenario, '--spec-version', '2026-07-28', '--force']
  const run = await runProgram(['server', '--url', url, ...chosen])
  const [, passed = 0, failed = 0] = /^Passed: (\d+)\/\d+, (\d+) failed/m.exec(run.output) ?? []
  return { ...run, scenarios: new Map([[scenario, { passed: Number(passed), failed: Number(failed) }]]) }
}

/** The names in the suite's own list of what a revision requires of a side, and what the project adds. */
export function requiredScenarios(leg: Leg, revision: Requirements): readonly string[] {
  const yaml = readFileSync(join(PACKAGE, `requirements/${revision}.yaml`), 'utf8')
  const section = new RegExp(`^${leg}:\\n((?:[ \\t]+.*\\n|\\n)*)`, 'm').exec(yaml)?.[1] ?? ''
  const scored = [...section.matchAll(/^\s+- ([\w/-]+)\s*$/gm)].map(match => match[1] ?? '')
  return [...scored, ...BEYOND_THE_SCORE[revision][leg]]
}

/** Runs the server leg against a URL. `baseline` is the file of expected failures. */
export function runServerLeg(url: string, revision: Requirements, baseline: string): Promise<SuiteRun> {
  return runSuite(['server', '--url', url], revision, baseline)
}

/** Runs the client leg with a script, all scenarios at once; the scripts take turns, so that the limit is one of all of them. */
export async function runClientLeg(script: string, revision: Requirements, baseline: string): Promise<SuiteRun> {
  const command = `${process.execPath} ${script}`
  const turns = new Turns()
  try {
    const env = { CONFORMANCE_TURNS: turns.url }
    return await runSuite(['client', '--command', command, '--timeout', '540000'], revision, baseline, env)
  } finally {
    await turns.stop()
  }
}

/** Runs one scenario of the client leg with a script, also one that belongs to an extension: each of them starts a hub. */
export async function runClientScenario(script: string, revision: Requirements, scenario: string): Promise<SuiteRun> {
  const command = `${process.execPath} ${script}`
  const chosen = ['--scenario', scenario, '--spec-version', revision, '--force']
  const run = await runProgram(['client', '--command', command, '--timeout', '90000', ...chosen])
  const [, passed = 0, failed = 0] = /^Passed: (\d+)\/\d+, (\d+) failed/m.exec(run.output) ?? []
  return { ...run, scenarios: new Map([[scenario, { passed: Number(passed), failed: Number(failed) }]]) }
}

/** Runs of one leg; a machine that is three times slower than wanted passes in the third or fourth. */
const MOST_RUNS = 4

/**
 * Runs the leg, and repeats it if the result is not good, four times at most; the last run counts. Scenarios wait for answers
 * by the clock: the suite's `server-stateless` gives a call through the hub 500 ms and a changed list 800 ms, which a busy
 * machine may not meet.
 */
export async function untilGood(
  leg: () => Promise<SuiteRun>,
  good: (run: SuiteRun) => boolean = run => run.exitCode === 0,
): Promise<SuiteRun> {
  for (let count = 1; ; count += 1) {
    const run = await leg()
    if (count === MOST_RUNS || good(run)) return run
    const failed = [...run.failures].flatMap(([name, checks]) => checks.map(check => `${name}/${check.split(':')[0]}`))
    console.log(`conformance: run once more; failed were ${failed.join(', ')}`)
  }
}

async function runSuite(
  leg: readonly string[],
  revision: Requirements,
  baseline: string,
  env: Readonly<Record<string, string>> = {},
): Promise<SuiteRun> {
  const run = await runProgram([...leg, '--requirements', revision, '--expected-failures', baseline], env)
  const lines = run.output.matchAll(/^[✓✗~] ([\w/-]+): (\d+) passed, (\d+) failed/gm)
  const scenarios = new Map(
    [...lines].map(([, name = '', passed, failed]) => [name, { passed: Number(passed), failed: Number(failed) }]),
  )
  return { ...run, scenarios }
}

async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Omit<SuiteRun, 'scenarios'>> {
  const folder = await makeTemp('conformance')
  try {
    const child = Bun.spawn(
      [process.execPath, '--preload', LOOPBACK, join(PACKAGE, 'dist/index.js'), ...args, '-o', join(folder, 'out')],
      {
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        env: { ...BUN_CACHE, ...env, PATH: process.env.PATH ?? '', HOME: folder },
      },
    )
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { exitCode, output: stdout + stderr, failures: await failuresIn(join(folder, 'out')) }
  } finally {
    await removeTemp(folder)
  }
}

/** Failed checks from the suite's `checks.json` files; a folder is called `[server-]<scenario>-<date>`. */
async function failuresIn(out: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const failures = new Map<string, string[]>()
  for await (const path of new Bun.Glob('**/checks.json').scan(out)) {
    const scenario = path.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[^/]*\/checks\.json$/, '')
    const checks = (await Bun.file(join(out, path)).json()) as { id: string; status: string; errorMessage?: string }[]
    const failed = checks.filter(({ status }) => status === 'FAILURE')
    failures.set(
      scenario,
      failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? ''}`),
    )
  }
  return failures
}

/** Failures of one scenario, for the message of a failed test: its checks, and its part of the output. */
export function excerpt(run: SuiteRun, scenario: string): string {
  return [...(run.failures.get(scenario) ?? []), partOf(run, scenario)].join('\n')
}

function partOf(run: SuiteRun, scenario: string): string {
  const start = run.output.indexOf(`=== Running scenario: ${scenario} ===`)
  if (start < 0) return run.output.slice(-2_000)
  const end = run.output.indexOf('=== ', start + 30)
  return run.output.slice(start, end < 0 ? undefined : end)
}
