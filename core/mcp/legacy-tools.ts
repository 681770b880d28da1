import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { ListItem } from './merge.ts'

/**
 * The list of tools as clients up to 2025-11-25 can read it: an output schema whose root is no object, which only the modern
 * era has, is left out. Lists without one stay the very same array, so that what is kept for an array stays kept.
 */
export class LegacyTools {
  readonly #known = new WeakMap<readonly ListItem[], readonly ListItem[]>()

  list(items: readonly ListItem[]): readonly ListItem[] {
    const known = this.#known.get(items)
    if (known) return known
    const readable = items.map(readableItem)
    const list = readable.every((item, index) => item === items[index]) ? items : readable
    this.#known.set(items, list)
    return list
  }
}

function readableItem(item: ListItem): ListItem {
  if (!item.text.includes('"outputSchema"')) return item
  const { outputSchema, ...tool } = JSON.parse(item.text) as JsonObject
  if (outputSchema === undefined || (isJsonObject(outputSchema) && outputSchema.type === 'object')) return item
  return { ...item, text: JSON.stringify(tool) }
}
