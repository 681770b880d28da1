import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { AskCapability, SessionScope } from '../contract/records.ts'

/** The first versions that know of these. */
const ELICITATION = '2025-06-18'
const MODES_AND_TOOLS = '2025-11-25'

/** All that the hub can pass on to a client that declares it. */
const ALL: JsonObject = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}

/** What a server may ask a client for, and what the client declares for it. */
const CAPABILITY: Readonly<Record<string, AskCapability>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}

/**
 * Of what a client declared, that which a server may ask it for (`sampling`, `elicitation`, `roots`), in the form that a server
 * of this version knows: no elicitation before 2025-06-18; no URL mode, and no settings of sampling, before 2025-11-25.
 */
export function askableCapabilities({ sampling, elicitation, roots }: JsonObject, version: string): JsonObject {
  const latest = version >= MODES_AND_TOOLS
  const asked = elicitation !== undefined && (latest || (version >= ELICITATION && takesForms(elicitation)))
  return {
    ...(sampling === undefined ? {} : { sampling: latest ? sampling : {} }),
    ...(asked ? { elicitation: latest ? elicitation : {} } : {}),
    ...(roots === undefined ? {} : { roots }),
  }
}

/**
 * What the connection declares that reads a server's lists. Many servers list a tool that asks only where their client can be
 * asked. Where each client has a connection of its own, this one stands for all that a client may have, so that the lists hold
 * what any of them can use. A server whose calls may come by it must not be told of what some of the callers cannot do.
 */
export function listReaderCapabilities(session: SessionScope | undefined, version: string): JsonObject {
  return session === 'per-session' ? askableCapabilities(ALL, version) : {}
}

/** What a client must have declared to be asked this; undefined for what is no question to clients. */
export function askedCapability(method: string): AskCapability | undefined {
  return Object.hasOwn(CAPABILITY, method) ? CAPABILITY[method] : undefined
}

/**
 * What a server's lists may depend on of all that a client declares, in one of 23 forms, so that no client can make the hub
 * read them oftener; undefined where nothing of it can be asked.
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

/** All that a client can declare which the hub passes on, as a server of this version knows it. */
export function everyCapability(version: string): JsonObject {
  return askableCapabilities(ALL, version)
}

/** Why a server may not ask this of a client with these capabilities; undefined when it may. */
export function askRefusal(
  method: string,
  params: JsonObject | undefined,
  capabilities: JsonObject,
): { readonly code: -32601 | -32602; readonly message: string } | undefined {
  const name = CAPABILITY[method]
  const declared = name === undefined ? undefined : capabilities[name]
  if (declared === undefined) return { code: -32601, message: `The hub offers no ${method} on this connection` }
  if (name !== 'elicitation') return undefined
  const mode = params?.mode === 'url' ? 'url' : 'form'
  const taken = mode === 'url' ? isJsonObject(declared) && declared.url !== undefined : takesForms(declared)
  return taken ? undefined : { code: -32602, message: `The client takes no elicitation of mode "${mode}"` }
}

/** A declaration without modes means forms, which were all there was at first. */
function takesForms(elicitation: JsonValue): boolean {
  return !isJsonObject(elicitation) || elicitation.form !== undefined || elicitation.url === undefined
}
