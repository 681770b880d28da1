import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { excerpt, type Requirements, requiredScenarios, runClientLeg, type SuiteRun, untilGood } from './suite.ts'

const CLIENT = join(import.meta.dir, 'client.ts')

const REQUIRED: Readonly<Record<Requirements, readonly string[]>> = {
  '2025-11-25': [
    'initialize',
    'tools_call',
    'elicitation-sep1034-client-defaults',
    'sse-retry',
    'json-schema-2020-12-preservation',
  ],
  '2026-07-28': [
    'tools_call',
    'request-metadata',
    'sep-2322-client-request-state',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
  ],
}

for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  describe(`requirement set ${revision}, the hub as the client`, () => {
    let run: SuiteRun

    beforeAll(async () => {
      run = await untilGood(() => runClientLeg(CLIENT, revision, join(import.meta.dir, `client-${revision}.yaml`)))
    }, 600_000)

    test('all that the suite requires but OAuth is asked of the hub here', () => {
      const others = requiredScenarios('client', revision).filter(scenario => !scenario.startsWith('auth/'))
      expect(others).toEqual([...REQUIRED[revision]])
    })

    test.each([...REQUIRED[revision]])('%s passes', scenario => {
      const result = run.scenarios.get(scenario)
      if (!result || result.failed > 0 || result.passed === 0) throw new Error(excerpt(run, scenario))
    })

    test('the run ends with 0: nothing fails but what the baseline names, and all of that does', () => {
      if (run.exitCode !== 0) throw new Error(run.output.slice(-3_000))
      expect(run.exitCode).toBe(0)
    })
  })
}
