import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { excerpt, requiredScenarios, runClientLeg, runClientScenario, type SuiteRun, untilGood } from './suite.ts'

const CLIENT = join(import.meta.dir, 'client.ts')
const NOTHING = join(import.meta.dir, 'nothing.yaml')

/** Scenarios of extensions that the hub has; the suite runs them and does not count them. */
const EXTENSIONS = [
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/enterprise-managed-authorization',
  'auth/wif-jwt-bearer',
] as const

for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  describe(`requirement set ${revision}, the hub as the client`, () => {
    let run: SuiteRun

    beforeAll(async () => {
      run = await untilGood(() => runClientLeg(CLIENT, revision, NOTHING))
    }, 600_000)

    test.each([...requiredScenarios('client', revision)])('%s passes', scenario => {
      const result = run.scenarios.get(scenario)
      if (!result || result.failed > 0 || result.passed === 0) throw new Error(excerpt(run, scenario))
    })

    test('the run ends with 0: the baseline names nothing', () => {
      if (run.exitCode !== 0) throw new Error(run.output.slice(-3_000))
      expect(run.exitCode).toBe(0)
    })
  })
}

describe('extensions, the hub as the client', () => {
  test.each(EXTENSIONS)(
    '%s passes',
    async scenario => {
      const run = await untilGood(() => runClientScenario(CLIENT, '2026-07-28', scenario))
      const result = run.scenarios.get(scenario)
      if (run.exitCode !== 0 || !result || result.failed > 0 || result.passed === 0)
        throw new Error(excerpt(run, scenario))
      expect(result.passed).toBeGreaterThan(0)
    },
    600_000,
  )
})
