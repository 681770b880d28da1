import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ScopeTool, ScopeView } from 'patchbay/features'
import type { Found } from './finder.ts'

const DOES_CHARACTERS = 200
const TAKES_CHARACTERS = 300
/** Number of servers that are named when nothing was found. */
const MOST_SERVERS = 50

/** Answer of `search_tools`: as many hits and names of servers as fit into the caller's limit. */
export function searchAnswer(
  { tools: found, ranking }: Found,
  limit: number,
  { tools, resultCharacters: most }: Pick<ScopeView, 'tools' | 'resultCharacters'>,
): JsonObject {
  if (found.length > 0)
    return whole(most, found.slice(0, limit).map(hitOf), hits => ({
      ...{ hits, more: found.length - hits.length },
      ...(ranking === undefined ? {} : { ranking }),
    }))
  const note = 'No tool fits. Use other key words, or name one of these servers.'
  const servers = [...new Set(tools.map(({ server }) => server))].slice(0, MOST_SERVERS)
  return whole(most, servers, named => ({ hits: [], note, servers: named }))
}

/** Returns an answer with as many of the first items as fit into this number of characters of JSON; all of them without a limit. */
function whole<T>(most: number | undefined, items: readonly T[], answer: (first: T[]) => JsonObject): JsonObject {
  const first = [...items]
  while (most !== undefined && first.length > 0 && JSON.stringify(answer(first)).length > most) first.pop()
  return answer(first)
}

/** Answer of `describe_tool`: the tool as a client would see it in the list. */
export function toolAnswer(tool: ScopeTool): JsonObject {
  const { title, description, inputSchema, annotations } = tool.definition()
  return {
    ...{ tool: tool.name, server: tool.server },
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

/** An object as the result of a tool. */
export function asResult(answer: JsonObject): JsonObject {
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
}

function hitOf(tool: ScopeTool): JsonObject {
  const { description, inputSchema, annotations } = tool.definition()
  return {
    ...{ tool: tool.name, server: tool.server },
    does: typeof description === 'string' ? shortened(description.replace(/\s+/g, ' ').trim(), DOES_CHARACTERS) : '',
    takes: shortened(takes(inputSchema), TAKES_CHARACTERS),
    effect: effect(annotations),
  }
}

/** The arguments in short, required ones first: `channel_id: string, thread?: string`. */
function takes(schema: JsonValue | undefined): string {
  const { properties, required } = asObject(schema)
  const needed = new Set(Array.isArray(required) ? required : [])
  const named = Object.entries(asObject(properties)).map(([name, inner]) => ({
    needed: needed.has(name),
    text: `${name}${needed.has(name) ? '' : '?'}: ${typeOf(inner)}`,
  }))
  const first = [...named.filter(one => one.needed), ...named.filter(one => !one.needed)]
  return first.map(({ text }) => text).join(', ')
}

function typeOf(schema: JsonValue): string {
  const { type, enum: choices } = asObject(schema)
  if (Array.isArray(choices) && choices.length > 0 && choices.length <= 6)
    return choices.map(choice => JSON.stringify(choice)).join('|')
  if (Array.isArray(type)) return type.join('|')
  return typeof type === 'string' ? type : 'any'
}

/** Effect of the tool as stated by the server; an unverified hint. */
function effect(annotations: JsonValue | undefined): string {
  const { readOnlyHint, destructiveHint } = asObject(annotations)
  if (readOnlyHint === true) return 'reads'
  if (destructiveHint === true) return 'may destroy'
  return readOnlyHint === false ? 'writes' : 'unknown'
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function shortened(text: string, most: number): string {
  const characters = [...text.slice(0, most * 2)]
  return characters.length <= most && text.length <= most * 2 ? text : `${characters.slice(0, most - 1).join('')}…`
}
