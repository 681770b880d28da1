import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { SessionScope } from '../contract/records.ts'
import { serverRequestKind } from './mcp-methods.ts'

/** The versions that introduced these features. */
const ELICITATION = '2025-06-18'
const MODES_AND_TOOLS = '2025-11-25'

/** The extension MCP Apps, whose servers draw user interfaces in the client. It defines no methods, so the hub can pass it on. */
export const APPS_EXTENSION = 'io.modelcontextprotocol/ui'

/**
 * MCP Apps with its only kind of content. Declared on every connection that several clients share: servers list tools with a
 * user interface only to clients that declare it, and by its specification each of these tools must answer in text too, which
 * is what other clients show.
 */
export const SHARED_APPS: JsonObject = {
  extensions: { [APPS_EXTENSION]: { mimeTypes: ['text/html;profile=mcp-app'] } },
}

/** All client capabilities that the hub can forward. */
const ALL: JsonObject = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}

/**
 * The declared capabilities for server requests (`sampling`, `elicitation`, `roots`), in the form of this protocol
 * version: no elicitation before 2025-06-18; no URL mode, and no sampling settings, before 2025-11-25.
 */
export function askableCapabilities({ sampling, elicitation, roots }: JsonObject, version: string): JsonObject {
  const latest = version >= MODES_AND_TOOLS
  const takesElicitation = elicitation !== undefined && (latest || (version >= ELICITATION && takesForms(elicitation)))
  return {
    ...(sampling === undefined ? {} : { sampling: latest ? sampling : {} }),
    ...(takesElicitation ? { elicitation: latest ? elicitation : {} } : {}),
    ...(roots === undefined ? {} : { roots }),
  }
}

/** The same for a connection whose next call may be of a client with other roots, which is announced as their change. */
export function withChangingRoots(capabilities: JsonObject): JsonObject {
  const { roots } = capabilities
  return isJsonObject(roots) ? { ...capabilities, roots: { ...roots, listChanged: true } } : capabilities
}

/** The same with `SHARED_APPS`, for connections whose lists several clients see. */
export function sharedCapabilities(capabilities: JsonObject, version: string): JsonObject {
  return { ...askableCapabilities(capabilities, version), ...SHARED_APPS }
}

/**
 * The capabilities that the connection declares which reads a server's lists. Many servers list a tool that sends
 * requests only to clients that support them. When each client has a dedicated connection, this one declares
 * everything, so that the lists hold what any client can use. A server whose shared connection serves calls must not
 * see capabilities that some callers lack, except `SHARED_APPS`.
 */
export function listReaderCapabilities(session: SessionScope | undefined, version: string): JsonObject {
  return sharedCapabilities(session === 'per-session' ? ALL : {}, version)
}

/**
 * The declared capabilities that a server's lists may depend on, in one of 23 forms, so that no client can cause more
 * reads; undefined when it declares none.
 */
export function listedFor({ sampling, elicitation, roots }: JsonObject): JsonObject | undefined {
  if (sampling === undefined && elicitation === undefined && roots === undefined) return undefined
  const has = (value: JsonValue | undefined, member: string) => isJsonObject(value) && value[member] !== undefined
  const url = has(elicitation, 'url')
  return {
    ...(sampling === undefined ? {} : { sampling: has(sampling, 'tools') ? { tools: {}, context: {} } : {} }),
    ...(elicitation === undefined
      ? {}
      : {
          elicitation: {
            ...(elicitation !== undefined && takesForms(elicitation) ? { form: {} } : {}),
            ...(url ? { url: {} } : {}),
          },
        }),
    ...(roots === undefined ? {} : { roots: { listChanged: true } }),
  }
}

/** All capabilities that the hub forwards, in the form of this version. */
export function everyCapability(version: string): JsonObject {
  return askableCapabilities(ALL, version)
}

/** The settings of MCP Apps in the capabilities of a client or server; undefined where it is not declared. */
export function appsSettings({ extensions }: JsonObject): JsonObject | undefined {
  const settings = isJsonObject(extensions) ? extensions[APPS_EXTENSION] : undefined
  return isJsonObject(settings) ? settings : undefined
}

/** MCP Apps as a client declared it, as the member `extensions`; empty for one that does not draw apps. */
export function declaredApps(capabilities: JsonObject): JsonObject {
  const settings = appsSettings(capabilities)
  return settings ? { extensions: { [APPS_EXTENSION]: settings } } : {}
}

/** The error for a server request that a client with these capabilities does not support; undefined when it does. */
export function askRefusal(
  method: string,
  params: JsonObject | undefined,
  capabilities: JsonObject,
): { readonly code: -32601 | -32602; readonly message: string } | undefined {
  const name = serverRequestKind(method)
  const declared = name === undefined ? undefined : capabilities[name]
  if (declared === undefined) return { code: -32601, message: `The hub offers no ${method} on this connection` }
  if (name !== 'elicitation') return undefined
  const mode = params?.mode === 'url' ? 'url' : 'form'
  const taken = mode === 'url' ? isJsonObject(declared) && declared.url !== undefined : takesForms(declared)
  return taken ? undefined : { code: -32602, message: `The client takes no elicitation of mode "${mode}"` }
}

/** A declaration without modes means forms, the only mode at first. */
function takesForms(elicitation: JsonValue): boolean {
  return !isJsonObject(elicitation) || elicitation.form !== undefined || elicitation.url === undefined
}
