import { describe, expect, test } from 'bun:test'
import type { JsonObject, JsonValue } from '../../../core/contract/json.ts'
import { catalogItem } from '../../../core/domain/tools/catalog-item.ts'
import { isOpenToApps, onlyForApps, uiUris, withUiUri } from '../../../core/domain/tools/ui-uris.ts'

const tool = (_meta: JsonValue): JsonObject => ({ name: 'x', inputSchema: { type: 'object' }, _meta })
const visible = (visibility: JsonValue): JsonObject => tool({ ui: { visibility } })

describe('onlyForApps()', () => {
  test('goes by a list without "model", and by the mark of the OpenAI Apps SDK', () => {
    expect(onlyForApps(visible(['app']))).toBe('apps')
    expect(onlyForApps(visible([]))).toBe('apps')
    expect(onlyForApps(tool({ 'openai/visibility': 'private' }))).toBe('widgets')
    expect(onlyForApps(tool({ ui: { visibility: ['model'] }, 'openai/visibility': 'private' }))).toBeUndefined()
    for (const open of [['model', 'app'], ['model'], 'app', null, {}, 7] as const)
      expect(onlyForApps(visible(open as JsonValue))).toBeUndefined()
    for (const meta of [null, [], 'app', { ui: null }, { ui: [] }, { ui: ['app'] }])
      expect(onlyForApps(tool(meta))).toBeUndefined()
    expect(onlyForApps({ name: 'x' })).toBeUndefined()
  })
})

test('isOpenToApps() is false only for a list without "app"', () => {
  expect([['app'], ['model', 'app'], 'model', null].map(each => isOpenToApps(visible(each)))).toEqual(
    Array(4).fill(true),
  )
  expect([['model'], []].map(each => isOpenToApps(visible(each)))).toEqual([false, false])
  expect(isOpenToApps({ name: 'x' })).toBe(true)
})

test('UI resources are found once each under all keys, and nothing else of a tool changes', () => {
  const meta = {
    ui: { resourceUri: 'ui://a', csp: { connectDomains: ['https://x'] }, visibility: ['app'] },
    'ui/resourceUri': 'ui://a',
    'openai/outputTemplate': 'ui://b',
    other: 'ui://c',
  }
  expect(uiUris(tool(meta))).toEqual(['ui://a', 'ui://b'])
  expect(withUiUri(tool(meta), uri => `${uri}!`)).toEqual(
    tool({
      ...meta,
      ui: { ...meta.ui, resourceUri: 'ui://a!' },
      'ui/resourceUri': 'ui://a!',
      'openai/outputTemplate': 'ui://b!',
    }),
  )
  for (const odd of [{ ui: { resourceUri: 7 } }, { ui: 'ui://a' }, { 'ui/resourceUri': ['ui://a'] }, null]) {
    expect(uiUris(tool(odd))).toEqual([])
    expect(withUiUri(tool(odd), () => 'changed')).toEqual(tool(odd))
  }
  expect(catalogItem('tools', tool(meta))).toMatchObject({ uiUris: ['ui://a', 'ui://b'], onlyFor: 'apps' })
  expect(catalogItem('prompts', tool(meta)).onlyFor).toBeUndefined()
})
