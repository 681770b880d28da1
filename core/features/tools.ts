import type { JsonObject } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { ResolvedGroup } from './group-names.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    tools: ToolSet
  }
}

/** One path under `/mcp` as one caller sees it. */
export interface ScopeInfo extends Required<Pick<ResolvedGroup, 'kind' | 'group'>> {
  /** In normal form, such as `/mcp/work`. */
  readonly path: string
  /** The word of the view that the path asks for: `smart` at `/mcp/$smart/work`. */
  readonly view?: string
  readonly actor: UserActor
}

/** A `ScopeInfo` while a request is handled. */
export interface ScopeView extends ScopeInfo {
  /** Equal for the requests of one caller at one path, and for no others. */
  readonly key: string
  /** Most characters of a result's text that the caller shows. */
  readonly resultCharacters?: number
  /** The members' tools that are listed for this caller. The same array while nothing of them has changed. */
  readonly tools: readonly ScopeTool[]
  /** At most three of their names that a misspelt one may have meant. */
  near(name: string): readonly string[]
  /** True while the caller may use the source of a result. Ask again before each use of a kept result. */
  permits(source: ResultSource): boolean
}

/** A member's tool. */
export interface ScopeTool {
  /** The name by which this caller calls it. */
  readonly name: string
  /** The member's name in the group. */
  readonly server: string
  /** The definition as in `tools/list`; parsed from text at each call. */
  definition(): JsonObject
}

/** A member of a scope. */
export interface ScopeMemberInfo {
  /** Its name in the group. */
  readonly server: string
  readonly description?: string
  readonly tools: number
}

/** The request that a result came from; `item` is the server's own name. */
export interface ResultSource {
  readonly method: 'tools/call' | 'prompts/get' | 'resources/read'
  readonly serverId: string
  readonly item?: string
}

/** A call of a tool, by the name that the caller sees. */
export type ToolSetCall = { readonly tool: string; readonly arguments: JsonObject }

/** Tools that a plugin adds to scopes and answers itself. */
export interface ToolSet {
  /**
   * The word of a view, of lower-case letters: the set is used below `/mcp/${view}` alone, in any scope behind it. Such a
   * path exists while a plugin has its view.
   */
  readonly view?: string
  /** Instructions in place of the members'; at most 8 KiB are sent. */
  instructions?(members: readonly ScopeMemberInfo[]): string
  /** `instead` hides the members' tools from lists; they can still be called. Undefined: not in this scope. */
  applies(scope: ScopeInfo): 'beside' | 'instead' | undefined
  /** The definitions, as in `tools/list`; a member's tool of the same name is renamed. Called whenever lists change. */
  tools(scope: ScopeInfo): readonly JsonObject[]
  /** The member's tool that this call stands for. Called before middlewares, which see only the inner call. */
  inner?(call: ToolSetCall, scope: ScopeView): ToolSetCall | undefined
  /** The result or its JSON text, within 60 s. Middlewares run around it; core checks no rights in it. */
  call(call: ToolSetCall, scope: ScopeView, signal: AbortSignal): Promise<{ readonly result: JsonObject | string }>
  /** A shorter form of a result over the group's `maxBytes`, after middlewares; undefined: it cannot be shortened. */
  shorten?(result: JsonObject, source: ResultSource, maxBytes: number, scope: ScopeView): JsonObject | undefined
}
