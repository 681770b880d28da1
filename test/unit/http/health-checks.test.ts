import { expect, test } from 'bun:test'
import { createHealthChecks, type HealthParts, pluginChecks } from '../../../core/http/health-checks.ts'
import { healthStatus, type PluginCheck } from '../../../core/http/routes/hub/health.ts'

const well: HealthParts = {
  pingStore: async () => 'ok',
  log: () => ({ toFile: true, failing: false }),
  anyPluginFailed: () => false,
  ofPlugins: () => [],
  descriptorShortage: () => undefined,
  sandbox: () => ({ present: 'full', notes: [] }),
}
const fine = { store: 'ok', sinks: 'ok', plugins: 'ok', descriptors: 'ok', sandbox: 'full', ofPlugins: [] } as const

test('createHealthChecks() finds everything well, and no sink where the log goes to standard output', async () => {
  expect(await createHealthChecks(well)()).toEqual(fine)
  const printed = createHealthChecks({ ...well, log: () => ({ toFile: false, failing: false }) })
  expect(await printed()).toEqual({ ...fine, sinks: 'none' })
})

const FULL = { code: 'storage_full', message: 'The disk has no room' } as const
const PAUSED: readonly PluginCheck[] = [{ name: 'archive', state: 'paused', isDegraded: true, fault: FULL }]

const ills: readonly (readonly [string, Partial<HealthParts>, object, number])[] = [
  ['a store that refuses', { pingStore: () => Promise.reject(new Error('away')) }, { store: 'lost' }, 503],
  ['a store that never answers', { pingStore: () => new Promise(() => {}) }, { store: 'lost' }, 503],
  ['a store that takes no writes', { pingStore: () => Promise.resolve('unwritable') }, { store: 'unwritable' }, 200],
  ['a log that cannot be written', { log: () => ({ toFile: false, failing: true }) }, { sinks: 'failed' }, 200],
  ['a check of a plugin', { ofPlugins: () => PAUSED }, { ofPlugins: PAUSED }, 200],
  ['a plugin that failed', { anyPluginFailed: () => true }, { plugins: 'failed' }, 200],
  ['a sandbox that is gone', { sandbox: () => ({ present: 'lost', notes: [] }) }, { sandbox: 'lost' }, 200],
  ['no descriptors left', { descriptorShortage: () => 'EMFILE' }, { descriptors: 'short' }, 200],
]
test.each(ills)('createHealthChecks() names %s, which degrades the hub', async (_what, parts, said, httpStatus) => {
  const checks = await createHealthChecks({ ...well, ...parts })()
  expect(checks as object).toEqual({ ...fine, ...said })
  expect(healthStatus(checks, false)).toEqual({ status: 'degraded', httpStatus: httpStatus as 200 | 503 })
})

test('createHealthChecks() finds a store well again as soon as it answers', async () => {
  let away = true
  const checks = createHealthChecks({
    ...well,
    pingStore: () => (away ? Promise.reject(new Error('x')) : Promise.resolve('ok')),
  })
  expect((await checks()).store).toBe('lost')
  away = false
  expect((await checks()).store).toBe('ok')
})

test('createHealthChecks() shows what the sandbox does not hold here', async () => {
  const checks = createHealthChecks({ ...well, sandbox: () => ({ present: 'full', notes: ['a gap'] }) })
  expect(await checks()).toEqual({ ...fine, sandboxNotes: ['a gap'] })
})

test('pluginChecks() says which states degrade the hub, and what holds while nothing contributes one', () => {
  const kinds = {
    archive: { states: ['ok', 'paused', 'none'], degraded: ['paused'], absent: 'none' },
    mirror: { states: ['ok', 'behind'], degraded: [], absent: 'ok' },
  } as const
  const contributed = new Map([['archive', { state: () => ({ state: 'paused', fault: FULL }) }]])
  expect(pluginChecks(kinds, contributed)).toEqual([...PAUSED, { name: 'mirror', state: 'ok', isDegraded: false }])
  expect(pluginChecks(kinds, new Map())[0]).toEqual({ name: 'archive', state: 'none', isDegraded: false })
})
