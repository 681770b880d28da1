import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

const PACKAGE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance')
const LOOPBACK = join(ROOT, 'test/support/loopback.cjs')

export type Requirements = '2025-11-25' | '2026-07-28'

/** Asked of the hub besides the scored scenarios: the suite runs them and does not count them. */
const BEYOND_THE_SCORE: Readonly<Record<Requirements, readonly string[]>> = {
  '2025-11-25': ['server-session-lifecycle', 'json-schema-2020-12'],
  '2026-07-28': ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation'],
}

export interface SuiteRun {
  readonly exitCode: number
  readonly output: string
  readonly scenarios: ReadonlyMap<string, { readonly passed: number; readonly failed: number }>
}

/** The names under `server:` in the suite's own list of what a revision requires, and what the project adds. */
export function requiredScenarios(revision: Requirements): readonly string[] {
  const yaml = readFileSync(join(PACKAGE, `requirements/${revision}.yaml`), 'utf8')
  const section = /^server:\n((?:[ \t]+.*\n|\n)*)/m.exec(yaml)?.[1] ?? ''
  const scored = [...section.matchAll(/^\s+- ([\w-]+)\s*$/gm)].map(match => match[1] ?? '')
  return [...scored, ...BEYOND_THE_SCORE[revision]]
}

/** Runs the server leg against a URL. `baseline` is the file of expected failures. */
export async function runSuite(url: string, revision: Requirements, baseline: string): Promise<SuiteRun> {
  const folder = await makeTemp('conformance')
  try {
    const child = Bun.spawn(
      [
        ...[process.execPath, '--preload', LOOPBACK, join(PACKAGE, 'dist/index.js'), 'server', '--url', url],
        ...['--requirements', revision, '-o', join(folder, 'out'), '--expected-failures', baseline],
      ],
      { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', env: { PATH: process.env.PATH ?? '', HOME: folder } },
    )
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    const output = stdout + stderr
    const lines = output.matchAll(/^[✓✗~] ([\w-]+): (\d+) passed, (\d+) failed/gm)
    const scenarios = new Map(
      [...lines].map(([, name = '', passed, failed]) => [name, { passed: Number(passed), failed: Number(failed) }]),
    )
    return { exitCode, output, scenarios }
  } finally {
    await removeTemp(folder)
  }
}

/** The part of the output that belongs to one scenario, for the message of a failed test. */
export function excerpt(run: SuiteRun, scenario: string): string {
  const start = run.output.indexOf(`=== Running scenario: ${scenario} ===`)
  if (start < 0) return run.output.slice(-2_000)
  const end = run.output.indexOf('=== ', start + 30)
  return run.output.slice(start, end < 0 ? undefined : end)
}
