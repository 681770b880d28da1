declare module '../contract/events.ts' {
  interface PluginEvents {
    'tool.called': ToolCallRecord
  }
}

/**
 * Outcome of a tools/call. `ok`; `tool_error`: the tool set isError; `upstream_error`: the server returned an error, could
 * not be reached or broke the protocol; `timeout`: the server did not answer in time; `cancelled`: the caller gave up;
 * `refused`: the hub refused it, such as for an unknown tool, wrong arguments or a quota; `blocked`: a middleware did.
 */
export type CallOutcome = 'ok' | 'tool_error' | 'upstream_error' | 'refused' | 'blocked' | 'cancelled' | 'timeout'

/** One tools/call that ended, in whatever way. Never holds arguments or results, but for the text of an error. */
export interface ToolCallRecord {
  readonly at: string
  readonly requestId: string
  readonly userId: string
  readonly userName: string
  /** The owner of the server; the caller where the call reached no server. */
  readonly ownerId: string
  /** Empty, as `server` is, where the call reached no server. */
  readonly serverId: string
  readonly server: string
  readonly group: string
  /** Id of the group; a server's own id, or `all:` and the caller's, where the caller used no group. */
  readonly groupId: string
  /** The server's own name of the tool; as the caller named it where the call reached no server. */
  readonly tool: string
  readonly durationMs: number
  /** Bytes of the result as JSON; absent where the call had none. */
  readonly resultBytes?: number | undefined
  readonly outcome: CallOutcome
  /** `success`; `error` when the tool set isError or the server returned an error; otherwise the hub's own code. */
  readonly status: string
  /** Error text of a failed call as its caller got it, at most 500 characters; absent where the server's `logging.callErrors` is false. */
  readonly error?: string | undefined
  /** Changes that the hub made to the call, such as dropped arguments; and the plugin that ended a `blocked` call. */
  readonly note?: string | undefined
  readonly plugin?: string | undefined
  /** The caller's address, after trusted proxies. */
  readonly client?: string
  /** As the MCP client named itself, at most 64 characters; absent for calls through the REST API. */
  readonly clientName?: string | undefined
  /** The version in the client's `clientInfo`, at most 64 characters. */
  readonly clientVersion?: string | undefined
  /** Id of the trace, if the call is traced. */
  readonly traceId?: string | undefined
  /** The access key of the caller, if it used one. */
  readonly keyId?: string | undefined
  readonly keyLabel?: string | undefined
}
