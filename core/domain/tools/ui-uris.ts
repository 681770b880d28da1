import type { JsonObject } from '../../contract/json.ts'
import { isPlainObject } from '../json/exact-json.ts'

/** Scheme of the UI resources of MCP Apps. */
export const UI_SCHEME = 'ui://'
/** Other keys under which a tool names its UI resource: an earlier draft of MCP Apps, and the OpenAI Apps SDK. */
const EARLIER_KEYS = ['ui/resourceUri', 'openai/outputTemplate'] as const

/** Maps the UI resource of a tool or result: `_meta.ui.resourceUri`, and the same under earlier keys. */
export function withUiUri(item: JsonObject, map: (uri: string) => string): JsonObject {
  const meta = item._meta
  if (!isPlainObject(meta)) return item
  const { ui } = meta
  const changed: JsonObject = {}
  if (isPlainObject(ui) && typeof ui.resourceUri === 'string') changed.ui = { ...ui, resourceUri: map(ui.resourceUri) }
  for (const key of EARLIER_KEYS) {
    const uri = meta[key]
    if (typeof uri === 'string') changed[key] = map(uri)
  }
  return Object.keys(changed).length === 0 ? item : { ...item, _meta: { ...meta, ...changed } }
}

/** The UI resources of an item, each once. */
export function uiUris(item: JsonObject): string[] {
  const found = new Set<string>()
  withUiUri(item, uri => {
    found.add(uri)
    return uri
  })
  return [...found]
}

/**
 * Returns the callers of a tool that is not for models: `apps`, as `_meta.ui.visibility` has no `model`; `widgets`, as the
 * OpenAI Apps SDK marks it private. Undefined for all other tools.
 */
export function onlyForApps({ _meta: meta }: JsonObject): 'apps' | 'widgets' | undefined {
  if (!isPlainObject(meta)) return undefined
  const { ui } = meta
  if (isPlainObject(ui) && Array.isArray(ui.visibility)) return ui.visibility.includes('model') ? undefined : 'apps'
  return meta['openai/visibility'] === 'private' ? 'widgets' : undefined
}

/** True unless a tool is for models only, so that no app may call it. */
export function isOpenToApps({ _meta: meta }: JsonObject): boolean {
  const ui = isPlainObject(meta) ? meta.ui : undefined
  return !isPlainObject(ui) || !Array.isArray(ui.visibility) || ui.visibility.includes('app')
}
