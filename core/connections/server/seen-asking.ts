import type { AskCapability } from '../../contract/records.ts'
import { askedCapability } from '../../domain/client-capabilities.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'

/** Longer texts are not what an SDK says in place of a question. */
const LONGEST = 2_048
/**
 * What the SDKs' servers say when a tool asks a client that declared nothing, alone or behind the names of their errors. Only
 * at the beginning of a text, since a tool may quote what others say.
 */
const REFUSAL =
  /^(?:[\w .-]{0,60}: ){0,3}Client does not support (?:form |url )?(?:listing )?(sampling|elicitation|roots)\b/i

/** Hears by a connection that a server asks, or would ask, its client during a call. */
export function askingEvents(
  noted: (capability: AskCapability) => void,
): Pick<ConnectionEvents, 'asks' | 'refusedAsk' | 'failedCall'> {
  const asks = (method: string): void => {
    const capability = askedCapability(method)
    if (capability) noted(capability)
  }
  return {
    asks,
    refusedAsk: asks,
    failedCall: text => {
      const capability = text.length <= LONGEST ? missedCapability(text) : undefined
      if (capability) noted(capability)
    },
  }
}

/** What a failed result or an error says that the client lacks; `text` is its JSON. */
function missedCapability(text: string): AskCapability | undefined {
  if (!text.includes('Client does not support')) return undefined
  const { message, content } = JSON.parse(text) as { message?: unknown; content?: readonly { text?: unknown }[] }
  const said = typeof message === 'string' ? message : Array.isArray(content) ? content[0]?.text : undefined
  return typeof said === 'string' ? (REFUSAL.exec(said)?.[1]?.toLowerCase() as AskCapability | undefined) : undefined
}
