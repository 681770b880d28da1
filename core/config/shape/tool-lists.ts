import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Other programs' lists of the only enabled tools of a server: with an empty list, no tool is enabled. */
const ONLY = ['includeTools', 'enabledTools', 'enabled_tools', 'allowedTools', 'allowed_tools'] as const
/** Lists of disabled tools in other programs; they take precedence over the lists of enabled ones. */
const OFF = ['disabledTools', 'excludeTools', 'disabled_tools', 'disallowedTools', 'disallowed_tools'] as const

/** Names of an entry's fields that hold lists of tools, or a filter of them. */
export const TOOL_LISTS: readonly string[] = [...ONLY, ...OFF, 'toolFilter']

/** Combined meaning of an entry's lists of tools. */
export interface ToolLists {
  /** A tool has to be here to be on; absent: each tool is on that is not in `off`. */
  readonly only?: ReadonlySet<string>
  readonly off: ReadonlySet<string>
  /** Sentences about parts that cannot be expressed by names. */
  readonly warnings: readonly string[]
}

/**
 * Reads the lists of Gemini CLI, Qwen Code, Amp (`includeTools`, `excludeTools`), Windsurf and Kiro (`disabledTools`),
 * nanobot and 1MCP (`enabledTools`), Crush (`disabled_tools`), GitHub Copilot (`tools` as a list), Hermes
 * (`tools.include`), OpenClaw (`toolFilter.include`) and mcp-proxy (`options.toolFilter` with `mode`). Where several name
 * the only tools, a tool has to be in each. `name` is the server's: `mcp__name__tool` and `mcp__name__*`, as Claude Code
 * calls tools, mean its own.
 */
export function readToolLists(name: string, entry: JsonObject): ToolLists {
  const filters = [entry.tools, entry.toolFilter, isJsonObject(entry.options) ? entry.options.toolFilter : undefined]
  const allow = [...ONLY.map(name => entry[name]), Array.isArray(entry.tools) ? entry.tools : undefined]
  const deny: (JsonValue | undefined)[] = OFF.map(name => entry[name])
  for (const filter of filters) {
    if (!isJsonObject(filter)) continue
    allow.push(listOf(filter.include))
    deny.push(listOf(filter.exclude))
    if (Array.isArray(filter.list)) (filter.mode === 'block' ? deny : allow).push(filter.list)
  }
  const only = allow
    .map(list => namesOf(name, list))
    .filter(names => names !== undefined && !names.includes('*')) as string[][]
  const off = deny.flatMap(list => namesOf(name, list) ?? [])
  const [first, ...rest] = only.map(names => new Set(names.filter(name => !isPattern(name))))
  const shared = first && rest.reduce((both, names) => both.intersection(names), first)
  const all = off.includes('*') ? new Set<string>() : shared
  return {
    ...(all ? { only: all } : {}),
    off: new Set(off.filter(name => !isPattern(name))),
    warnings: [
      ...patternWarnings(only.flat(), 'switched on, since tools are known here by their whole names'),
      ...patternWarnings(off, 'switched off, since tools are known here by their whole names'),
    ],
  }
}

/** True when an object of `tools` is a filter, not a map of tools. */
export function isToolFilter(tools: JsonObject): boolean {
  return listOf(tools.include) !== undefined || listOf(tools.exclude) !== undefined
}

/** Filters may name a single tool without a list. */
function listOf(value: JsonValue | undefined): JsonValue[] | undefined {
  return typeof value === 'string' ? [value] : Array.isArray(value) ? value : undefined
}

/** Gemini CLI takes `tool(arguments)` for the tool. */
function namesOf(server: string, list: JsonValue | undefined): string[] | undefined {
  if (!Array.isArray(list)) return undefined
  return list.filter(name => typeof name === 'string').map(name => bareName(server, name.replace(/\(.*$/s, '')))
}

function bareName(server: string, name: string): string {
  const own = `mcp__${server.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`
  if (server === '' || !name.startsWith(own)) return name
  if (name === own) return '*'
  return name.startsWith(`${own}__`) ? name.slice(own.length + 2) : name
}

function isPattern(name: string): boolean {
  return /[*?[\]]/.test(name)
}

function patternWarnings(names: readonly string[], what: string): string[] {
  const patterns = names.filter(name => name !== '*' && isPattern(name)).slice(0, 10)
  if (patterns.length === 0) return []
  return [`tools by the pattern ${patterns.map(name => JSON.stringify(name.slice(0, 64))).join(', ')} are not ${what}`]
}
