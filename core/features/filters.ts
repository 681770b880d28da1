import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../contract/records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    contentFilter: ContentFilter
  }
}

/** A request of a client to a server, and the way that it takes. */
export interface FilteredRequest {
  /** The method of the client's request, such as `tools/call`. */
  readonly method: string
  readonly actor: UserActor
  readonly server: Pick<ServerRecord, 'id' | 'name' | 'ownerId' | 'tags'>
  /** The group at whose path the request was made; absent at a server's own path and over REST. */
  readonly group?: Pick<GroupRecord, 'id' | 'name' | 'ownerId' | 'tags'>
  /** The request carries a credential of the caller's own, so that not even the server's owner may see or change it elsewhere. */
  readonly withOwnCredential?: true
  /** The server's own name of the tool or prompt, or the URI of the resource. */
  readonly item?: string
}

/** JSON text; a long one is UTF-8 in parts, which must not be changed. */
export type FilteredText = string | { readonly parts: readonly Uint8Array<ArrayBuffer>[]; readonly byteLength: number }

/** The kinds of what a server sends: the outcome of a request, and what it sends before that. */
export type ReceivedKind = 'result' | 'error' | 'notification' | 'question'

/** Looks at one request. A HubError that it throws refuses the request; the caller gets its code and message. */
export interface OpenFilter {
  /** Parameters, or answers of the client, as the server gets them; the same object: unchanged. */
  sent(params: JsonObject): JsonObject | Promise<JsonObject>
  /** JSON text of the same shape for the caller; undefined: unchanged. A notification that is refused is dropped. */
  received(kind: ReceivedKind, text: FilteredText): string | undefined | Promise<string | undefined>
  /** True when it would look at the request as the other one does, which was opened for it before. Absent: never. */
  isSame?(other: OpenFilter): boolean
}

/**
 * Looks at what passes between callers and servers, whatever the era and the way: arguments, results, errors, notifications of a
 * call, and questions of servers with their answers. It runs behind the middlewares, so that it has the last word on what is sent,
 * and before the gates of a tools/call, which decide about what is sent; when a decision took time and another filter applies by
 * now, it looks again. Results are looked at before they are shortened, kept or recorded. A request is refused when its filter fails.
 */
export interface ContentFilter {
  /** Undefined: nothing of this request is looked at. Called for each request, so that it must answer from memory. */
  open(request: FilteredRequest): OpenFilter | undefined
  /** A text that a server writes to its log, as the hub's log gets it. */
  logged?(server: FilteredRequest['server'], text: string): string
}
