/** Lists of what is known of bundled plugins before they are loaded: they name what the definitions do. */
import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { COMMANDS } from '../../../core/cli/commands.ts'
import type { PluginDefinition } from '../../../core/contract/plugin.ts'
import { bundledPlugins } from '../../../core/hub/bundled.ts'
import { BUNDLED_COMMANDS } from '../../../core/hub/bundled-commands.ts'
import { BUNDLED_FIELDS, ENTRY_FIELDS } from '../../../core/hub/bundled-fields.ts'
import { BUNDLED_SETTINGS, HUB_SETTINGS, readHubEnvironment } from '../../../core/hub/bundled-settings.ts'

const all = (part: (definition: PluginDefinition<unknown>) => object | undefined): object =>
  Object.assign({}, ...bundledPlugins.map(part))

test('each bundled plugin is the definition that its folder exports, as of a plugin from elsewhere', async () => {
  const folder = join(import.meta.dir, '../../../plugins')
  const folders = (await readdir(folder)).sort()
  const exported = await Promise.all(folders.map(async name => (await import(join(folder, name, 'plugin.ts'))).default))
  const named = [...bundledPlugins].sort((one, other) => (one.name < other.name ? -1 : 1))
  expect(named.map(({ name }) => name)).toEqual(folders)
  for (const [at, definition] of named.entries()) expect(exported[at] === definition ? '' : definition.name).toBe('')
})

test('the commands of bundled plugins are those of their definitions', () => {
  expect(BUNDLED_COMMANDS).toEqual(all(({ commands }) => commands) as typeof BUNDLED_COMMANDS)
  for (const name of Object.keys(BUNDLED_COMMANDS)) expect([...COMMANDS.keys()]).toContain(name)
})

test('the settings of bundled plugins are those of their definitions, each with a variable of its own', () => {
  expect(BUNDLED_SETTINGS).toEqual(all(({ hubSettings }) => hubSettings) as typeof BUNDLED_SETTINGS)
  const { variables } = HUB_SETTINGS
  expect(new Set(variables.map(({ key }) => key)).size).toBe(variables.length)
  expect(new Set(variables.map(({ name }) => name)).size).toBe(variables.length)
  for (const { variable, ...setting } of Object.values(BUNDLED_SETTINGS)) {
    const { parse } = variables.find(({ name }) => name === variable) ?? {}
    const text = Array.isArray(setting.default) ? setting.default.join(',') : String(setting.default)
    expect(parse?.(text)).toEqual({ ok: true, value: setting.default })
  }
})

test('the variables of bundled plugins have the names that are documented', () => {
  const given = {
    MARKET_ENABLED: 'false',
    MARKET_USERS: 'admin',
    MARKET_OFFLINE: '1',
    MARKET_SOURCES_OFF: 'official,npm',
  }
  const read: object = readHubEnvironment({ ...given, HISTORY_MAX_SIZE: '100MB' })
  expect(read).toEqual({
    ...{ marketEnabled: false, marketUsers: 'admin', marketOffline: true, marketSourcesOff: ['official', 'npm'] },
    historyMaxBytes: 100_000_000,
  })
})

test('the fields of servers of bundled plugins are those of their definitions, and plain data', () => {
  expect(BUNDLED_FIELDS).toEqual(all(({ serverFields }) => serverFields) as typeof BUNDLED_FIELDS)
  expect(structuredClone(ENTRY_FIELDS)).toEqual(ENTRY_FIELDS)
  const schemas = Object.assign({}, ...Object.values(BUNDLED_FIELDS).map(({ fields }) => fields))
  for (const [field, { members, names = {}, words = [] }] of Object.entries(ENTRY_FIELDS.forms)) {
    expect(members).toEqual(Object.keys(schemas[field].properties))
    for (const member of [...Object.values(names), ...words]) expect(members).toContain(member)
  }
})
