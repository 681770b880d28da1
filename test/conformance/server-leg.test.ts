import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Hub, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { excerpt, type Requirements, requiredScenarios, runServerLeg, type SuiteRun, untilGood } from './suite.ts'

const SUPPORT = join(import.meta.dir, '../support')

interface Run {
  readonly revision: Requirements
  readonly era: 'legacy' | 'both' | 'modern'
  /** Without a hub the suite speaks to the reference upstream alone. */
  readonly way: 'hub' | 'direct'
  readonly baseline: string
  /** Checks that may fail, by scenario; each is in the baseline with its reason. */
  readonly known: Readonly<Record<string, number>>
}

/** Runs with an upstream of the older era. */
const OLDER_UPSTREAM = {
  baseline: 'legacy-upstream.yaml',
  known: {
    'server-stateless': 2,
    'input-required-result-basic-elicitation': 1,
    'input-required-result-ignore-extra-params': 1,
  },
}
const NOTHING = { baseline: 'nothing.yaml', known: {} }

/** Both eras of clients, first with servers of the other era only, which need most of the hub, then with servers of both eras. */
const HUB: readonly Run[] = [
  { revision: '2026-07-28', era: 'legacy', way: 'hub', ...OLDER_UPSTREAM },
  { revision: '2025-11-25', era: 'modern', way: 'hub', ...NOTHING },
  { revision: '2025-11-25', era: 'both', way: 'hub', ...NOTHING },
  { revision: '2026-07-28', era: 'both', way: 'hub', ...NOTHING },
]
const HUB_OF_ONE_ERA: readonly Run[] = [
  { revision: '2025-11-25', era: 'legacy', way: 'hub', ...NOTHING },
  { revision: '2026-07-28', era: 'modern', way: 'hub', ...NOTHING },
]
const DIRECT: readonly Run[] = [
  { revision: '2025-11-25', era: 'legacy', way: 'direct', ...NOTHING },
  { revision: '2025-11-25', era: 'both', way: 'direct', ...NOTHING },
  { revision: '2026-07-28', era: 'both', way: 'direct', ...NOTHING },
]
/** The suite runs those that need most of the hub; a fault of the reference shows through it. */
const RUNS = extent(HUB.slice(0, 2), [...DIRECT, ...HUB, ...HUB_OF_ONE_ERA])

test.each([
  ['2025-11-25', 32],
  ['2026-07-28', 40],
] as const)('the suite requires the scenarios of %s, and the project some more: %d', (revision, count) => {
  expect(requiredScenarios('server', revision)).toHaveLength(count)
})

/** `CONFORMANCE=direct` leaves the hub out. */
for (const leg of process.env.CONFORMANCE === 'direct' ? DIRECT : RUNS) {
  const { revision, era, way, baseline, known } = leg
  describe(`requirement set ${revision}, upstream ERA=${era}, ${way === 'hub' ? 'through the hub' : 'without a hub'}`, () => {
    const started: { stop(): Promise<unknown> }[] = []
    const required = requiredScenarios('server', revision)
    let run: SuiteRun

    beforeAll(async () => {
      const reference = await startProgram(fixture('reference'), { env: { ERA: era } })
      started.push(reference)
      const url = way === 'direct' ? reference.url : await throughHub(reference, started)
      const host = url.replace('127.0.0.1', 'localhost')
      run = await untilGood(
        () => runServerLeg(host, revision, join(import.meta.dir, baseline)),
        // The suite ends with 0 however many checks fail of a scenario that the baseline names.
        first => first.exitCode === 0 && required.every(scenario => passes(first, scenario, known)),
      )
    }, 300_000)

    afterAll(async () => {
      for (const program of started.splice(0).reverse()) await program.stop()
    }, 120_000)

    test.each([...required])('%s passes', scenario => {
      if (!passes(run, scenario, known)) throw new Error(excerpt(run, scenario))
    })

    test('the run ends with 0: nothing fails but what the baseline names, and all of that does', () => {
      if (run.exitCode !== 0) throw new Error(run.output.slice(-3_000))
      expect(run.exitCode).toBe(0)
    })
  })
}

/** True when a scenario ran and no more of its checks failed than are known to fail. */
function passes(run: SuiteRun, scenario: string, known: Run['known']): boolean {
  const result = run.scenarios.get(scenario)
  return result !== undefined && result.passed > 0 && result.failed <= (known[scenario] ?? 0)
}

/** A hub whose group `everything` is the reference alone, behind a proxy that adds the credential. */
async function throughHub(reference: Program, started: { stop(): Promise<unknown> }[]): Promise<string> {
  const hub: Hub = await startHub({
    settings: {
      mcpServers: { reference: { type: 'streamable-http', url: reference.url } },
      groups: [{ name: 'everything', servers: ['reference'] }],
    },
  })
  started.push(hub)
  const admin = await hub.setup()
  await until(async () => (await admin.ok('GET', '/api/servers/reference')).status.state === 'online', {
    timeoutMs: 60_000,
    intervalMs: 100,
    what: 'the reference upstream to be online',
  })
  const port = new URL(hub.url).port
  const proxy = await startProgram(join(SUPPORT, 'auth-proxy.ts'), { args: ['0', port, await admin.mcpKey()] })
  started.push(proxy)
  return `${proxy.url}/mcp/everything`
}
