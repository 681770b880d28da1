import type { ServerRequestKind } from '../../contract/records.ts'
import { serverRequestKind } from '../../domain/mcp-methods.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'

/** Longer texts are not the error message of an SDK. */
const LONGEST = 2_048
/**
 * The error of the SDKs' servers when a tool requests something of a client that did not declare it, alone or after the
 * SDK's error prefixes. Matched only at the beginning of a text, since a tool may quote others.
 */
const REFUSAL =
  /^(?:[\w .-]{0,60}: ){0,3}Client does not support (?:form |url )?(?:listing )?(sampling|elicitation|roots)\b/i

/** Connection event handlers that call `noted` for each server request that was sent, or would have been. */
export function askingEvents(
  noted: (capability: ServerRequestKind) => void,
): Pick<ConnectionEvents, 'serverRequest' | 'rejectedRequest' | 'failedCall'> {
  const serverRequest = (method: string): void => {
    const capability = serverRequestKind(method)
    if (capability) noted(capability)
  }
  return {
    serverRequest,
    rejectedRequest: serverRequest,
    failedCall: text => {
      const capability = text.length <= LONGEST ? missedCapability(text) : undefined
      if (capability) noted(capability)
    },
  }
}

/** The capability that a failed result or an error says the client lacks; `text` is its JSON. */
function missedCapability(text: string): ServerRequestKind | undefined {
  if (!text.includes('Client does not support')) return undefined
  const { message, content } = JSON.parse(text) as { message?: unknown; content?: readonly { text?: unknown }[] }
  const refusal = typeof message === 'string' ? message : Array.isArray(content) ? content[0]?.text : undefined
  return typeof refusal === 'string'
    ? (REFUSAL.exec(refusal)?.[1]?.toLowerCase() as ServerRequestKind | undefined)
    : undefined
}
