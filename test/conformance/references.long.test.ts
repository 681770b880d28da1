import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { LOOPBACK, startHub } from '../support/hub.ts'
import { startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { excerpt, type Requirements, requiredScenarios, runServerLeg, type SuiteRun, untilGood } from './suite.ts'

const SUPPORT = join(import.meta.dir, '../support')
const REFERENCES = ['sdk-1-32', 'sdk-2-4'] as const
const REVISIONS: readonly Requirements[] = ['2025-11-25', '2026-07-28']
/** In the suite each package with the newest revision that it was written for. */
const PAIRS = extent<readonly (readonly [(typeof REFERENCES)[number], Requirements])[]>(
  [
    ['sdk-1-32', '2025-11-25'],
    ['sdk-2-4', '2026-07-28'],
  ],
  REFERENCES.flatMap(name => REVISIONS.map(revision => [name, revision] as const)),
)

/** Servers as their users write them do not pass everything; a suite or package that changes this shows here. */
const DIRECTLY_PASSED: Readonly<Record<string, number>> = {
  'sdk-1-32 2025-11-25': 30,
  'sdk-1-32 2026-07-28': 1,
  'sdk-2-4 2025-11-25': 32,
  'sdk-2-4 2026-07-28': 39,
}

interface Runs {
  readonly direct: SuiteRun
  readonly hub: SuiteRun
}

const runs = new Map<string, Runs>()
const started: { stop(): Promise<unknown> }[] = []

/** The runs of one server are at once, since most of a run is waiting. */
beforeAll(async () => {
  const references = await Promise.all(REFERENCES.map(name => startProgram(fixture(name))))
  started.push(...references)
  const urls = Object.fromEntries(REFERENCES.map((name, index) => [name, references[index]?.url ?? '']))
  const mcpServers = Object.fromEntries(REFERENCES.map(name => [name, { type: 'streamable-http', url: urls[name] }]))
  const hub = await startHub({ env: LOOPBACK, settings: { mcpServers } })
  started.push(hub)
  const admin = await hub.setup()
  await online(admin, REFERENCES)
  const args = ['0', new URL(hub.url).port, await admin.mcpKey()]
  const proxy = await startProgram(join(SUPPORT, 'auth-proxy.ts'), { args })
  started.push(proxy)
  const leg = (url: string, revision: Requirements) =>
    runServerLeg(url.replace('127.0.0.1', 'localhost'), revision, join(import.meta.dir, 'nothing.yaml'))
  for (const name of REFERENCES) {
    await Promise.all(
      PAIRS.filter(([one]) => one === name).map(async ([, revision]) => {
        const known = DIRECTLY_PASSED[`${name} ${revision}`]
        const direct = untilGood(
          () => leg(urls[name] ?? '', revision),
          run => passedBy(run, revision).length === known,
        )
        const through = untilGood(
          () => leg(`${proxy.url}/mcp/${name}`, revision),
          run => passedBy(run, revision).length >= (known ?? 0),
        )
        runs.set(`${name} ${revision}`, { direct: await direct, hub: await through })
      }),
    )
  }
}, 900_000)

afterAll(async () => {
  for (const one of started.splice(0).reverse()) await one.stop()
}, 120_000)

function passedBy(run: SuiteRun, revision: Requirements): readonly string[] {
  return requiredScenarios('server', revision).filter(name => {
    const result = run.scenarios.get(name)
    return result !== undefined && result.failed === 0 && result.passed > 0
  })
}

describe.each([...PAIRS])('a server written with %s, requirement set %s', (name, revision) => {
  const found = (): Runs => runs.get(`${name} ${revision}`) as Runs

  test('passes as much as it is known to', () => {
    const passed = passedBy(found().direct, revision)
    const others = requiredScenarios('server', revision).filter(scenario => !passed.includes(scenario))
    if (passed.length !== DIRECTLY_PASSED[`${name} ${revision}`]) throw new Error(`Not passed: ${others.join(', ')}`)
    expect(passed).toHaveLength(DIRECTLY_PASSED[`${name} ${revision}`] ?? 0)
  })

  test('checks that it passes directly also pass through the hub', () => {
    const { direct, hub } = found()
    const through = passedBy(hub, revision)
    for (const scenario of passedBy(direct, revision))
      if (!through.includes(scenario)) throw new Error(`${scenario}\n${excerpt(hub, scenario)}`)
    expect(through.length).toBeGreaterThanOrEqual(passedBy(direct, revision).length)
  })
})
