import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Hub, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { excerpt, requiredScenarios, runSuite, type SuiteRun } from './suite.ts'

const SUPPORT = join(import.meta.dir, '../support')
const BASELINE = join(import.meta.dir, 'server-2025-11-25.yaml')
const REQUIRED = requiredScenarios('2025-11-25')

/** `CONFORMANCE=direct` leaves the hub out: the suite then speaks to the reference upstream alone. */
const ways = process.env.CONFORMANCE === 'direct' ? (['direct'] as const) : (['direct', 'hub'] as const)

test('the suite requires 30 scenarios of 2025-11-25 and the project two more', () => {
  expect(REQUIRED).toHaveLength(32)
})

for (const era of ['legacy', 'both', 'modern'] as const) {
  for (const way of ways) {
    // The suite's client of this revision cannot speak to a modern server itself: that is what the hub is for.
    if (era === 'modern' && way === 'direct') continue
    describe(`requirement set 2025-11-25, upstream ERA=${era}, ${way === 'hub' ? 'through the hub' : 'without a hub'}`, () => {
      const started: { stop(): Promise<unknown> }[] = []
      let run: SuiteRun

      beforeAll(async () => {
        const reference = await startProgram(join(SUPPORT, 'mcp-servers/reference.ts'), { env: { ERA: era } })
        started.push(reference)
        const url = way === 'direct' ? reference.url : await throughHub(reference, started)
        run = await runSuite(url.replace('127.0.0.1', 'localhost'), '2025-11-25', BASELINE)
      }, 90_000)

      afterAll(async () => {
        for (const program of started.splice(0).reverse()) await program.stop()
      }, 45_000)

      test.each([...REQUIRED])('%s passes', scenario => {
        const result = run.scenarios.get(scenario)
        if (!result || result.failed > 0 || result.passed === 0) throw new Error(excerpt(run, scenario))
      })

      test('the run ends with 0 and an empty baseline', () => {
        if (run.exitCode !== 0) throw new Error(run.output.slice(-3_000))
        expect(run.exitCode).toBe(0)
      })
    })
  }
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
    timeoutMs: 15_000,
    intervalMs: 100,
    what: 'the reference upstream to be online',
  })
  const port = new URL(hub.url).port
  const proxy = await startProgram(join(SUPPORT, 'auth-proxy.ts'), { args: ['0', port, await admin.mcpKey()] })
  started.push(proxy)
  return `${proxy.url}/mcp/everything`
}
