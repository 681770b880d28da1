import type { JsonObject } from '../../contract/json.ts'
import { isPlainObject } from '../json/exact-json.ts'

/** How MCP Apps named the same before `_meta.ui.resourceUri`; servers still write both. */
const EARLIER_UI_KEY = 'ui/resourceUri'

/** `_meta.ui.resourceUri` names the resource that draws a tool or its result. */
export function withUiUri(item: JsonObject, map: (uri: string) => string): JsonObject {
  const meta = item._meta
  if (!isPlainObject(meta)) return item
  const { ui, [EARLIER_UI_KEY]: earlier } = meta
  const named = isPlainObject(ui) && typeof ui.resourceUri === 'string'
  if (!named && typeof earlier !== 'string') return item
  return {
    ...item,
    _meta: {
      ...meta,
      ...(named ? { ui: { ...ui, resourceUri: map(String(ui.resourceUri)) } } : {}),
      ...(typeof earlier === 'string' ? { [EARLIER_UI_KEY]: map(earlier) } : {}),
    },
  }
}

/** The resources that an item is drawn by. */
export function uiUris(item: JsonObject): string[] {
  const found: string[] = []
  withUiUri(item, uri => {
    found.push(uri)
    return uri
  })
  return found
}
