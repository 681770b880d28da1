import type { JsonObject } from '../../contract/json.ts'
import { type ChosenArgument, withArgument } from '../../domain/groups/selected-schema.ts'
import { isPlainObject, parseExact } from '../../domain/json/exact-json.ts'
import { quarterTokens, quarterTokensOfTool } from '../../domain/tools/about-tokens.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { looseSchema } from '../../domain/tools/output-schema.ts'
import { type ArgumentRules, shapeSchema } from '../../domain/tools/tool-shape.ts'
import { withUiUri } from '../../domain/tools/ui-uris.ts'

interface Form {
  /** A member that is removed from the item's JSON; empty: none. */
  readonly without?: string
  /** The rules for a tool's arguments, which its schema reflects. */
  readonly rules?: ArgumentRules
  /** The argument that chooses the member that runs it. */
  readonly argument?: ChosenArgument
  /** Its output schema is written so that no result violates it. */
  readonly loose?: true
  /** The UI resources that a tool names, each mapped to its exposed URI. */
  readonly uiUris?: Readonly<Record<string, string>>
}

/** An item as one scope lists it. Its text is built with its page: scopes share the texts of servers' lists. */
export class ListItem {
  /** The key for cursors: unique within its list. */
  readonly key: string
  readonly serverId: string
  readonly #source: CatalogItem
  /** Members that replace the upstream's. */
  readonly #changes: JsonObject
  readonly #form: Form | undefined

  constructor(key: string, serverId: string, source: CatalogItem, changes: JsonObject, form?: Form) {
    this.key = key
    this.serverId = serverId
    this.#source = source
    this.#changes = changes
    this.#form = form
  }

  /** Name of the argument that chooses the member; mostly undefined. */
  get argument(): string | undefined {
    return this.#form?.argument?.name
  }

  /** The name or URI at the upstream. */
  get original(): string {
    return this.#source.key
  }

  /** As in {@link CatalogItem}. */
  get onlyFor(): CatalogItem['onlyFor'] {
    return this.#source.onlyFor
  }

  /** The approximate length of `text`, without building it. */
  get characters(): number {
    return this.#source.text.length
  }

  /** About what a model pays to read it as a tool, in quarters of a token. */
  get quarterTokens(): number {
    const { name, description } = this.#changes
    if (description !== undefined || this.#form?.rules || this.#form?.argument)
      return quarterTokensOfTool(parseExact(this.text) as JsonObject)
    const renamed = typeof name === 'string' ? quarterTokens(name) - quarterTokens(this.original) : 0
    return this.#source.quarterTokens + renamed
  }

  /** The item as JSON text, with exposed names and URIs. */
  get text(): string {
    const { without = '', rules, uiUris, loose, argument } = this.#form ?? {}
    const { text } = this.#source
    const stays = Object.keys(this.#changes).length === 0 && !uiUris && !rules && !loose && !argument
    if (stays && (without === '' || !text.includes(`"${without}"`))) return text
    const item = itemJson(this.#source)
    const changed = { ...(uiUris ? withUiUri(item, uri => uiUris[uri] ?? uri) : item), ...this.#changes }
    if (rules) changed.inputSchema = shapeSchema(item.inputSchema, rules)
    if (argument) changed.inputSchema = withArgument(changed.inputSchema, argument)
    if (loose && isPlainObject(changed.outputSchema)) changed.outputSchema = looseSchema(changed.outputSchema)
    if (without !== '') delete changed[without]
    return JSON.stringify(changed)
  }

  /** True when both have the same text. */
  same(other: ListItem): boolean {
    if (this.key !== other.key || this.#source.fingerprint !== other.#source.fingerprint) return false
    const form = (item: ListItem): string => JSON.stringify([item.#changes, item.#form])
    return this.#isPlain && other.#isPlain ? true : form(this) === form(other)
  }

  get #isPlain(): boolean {
    return this.#form === undefined && Object.keys(this.#changes).length === 0
  }
}
