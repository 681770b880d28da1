import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { excerpt, requiredScenarios, runClientScenario, untilGood } from './suite.ts'

const CLIENT = join(import.meta.dir, 'client.ts')

/** The scenarios of the client leg that need most of the hub in each revision; `client-leg.long.test.ts` runs all scenarios. */
test.each([
  ['2025-11-25', 'sse-retry'],
  ['2026-07-28', 'http-custom-headers'],
  ['2026-07-28', 'auth/scope-step-up'],
] as const)(
  'requirement set %s, the hub as the client: %s passes',
  async (revision, scenario) => {
    expect(requiredScenarios('client', revision)).toContain(scenario)
    const run = await untilGood(() => runClientScenario(CLIENT, revision, scenario))
    const result = run.scenarios.get(scenario)
    if (run.exitCode !== 0 || !result || result.failed > 0 || result.passed === 0)
      throw new Error(excerpt(run, scenario))
    expect(result.passed).toBeGreaterThan(0)
  },
  600_000,
)
