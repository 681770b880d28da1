import type { AskReply } from '../../connections/api.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { ElicitationAnswer } from '../../features/gates.ts'

/** The parts of a request that a gate needs, whatever its era. */
export interface Asking {
  readonly requestId: string
  readonly clientAddress: string
  readonly clientName?: string
  readonly clientVersion?: string | undefined
  readonly actor: UserActor
  readonly capabilities?: JsonObject
  readonly progress?: (params: JsonObject) => void
  readonly ask: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>
  modern?(): unknown
  cancel?: (reason?: string) => void
}

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'] satisfies ElicitationAnswer['action'][]

/** Asks the client. Undefined where it cannot be asked, answers with an error, or the call has ended. */
export async function ask(
  exchange: Asking,
  elicitation: JsonObject,
  signal: AbortSignal,
): Promise<ElicitationAnswer | undefined> {
  const reply = await exchange.ask('elicitation/create', elicitation, signal)
  if (!('result' in reply) || !isJsonObject(reply.result)) return undefined
  const { action, content } = reply.result
  if (!isAction(action)) return undefined
  return { action, content: isJsonObject(content) ? content : {} }
}

/** The kinds of elicitation that the client can show. One that names no kind shows forms. */
export function elicitationOf({ capabilities }: Pick<Asking, 'capabilities'>): Record<'form' | 'url', boolean> {
  const declared = capabilities?.elicitation
  if (!isJsonObject(declared)) return { form: false, url: false }
  const url = isJsonObject(declared.url)
  return { form: !url || declared.form !== undefined, url }
}

function isAction(action: unknown): action is ElicitationAnswer['action'] {
  return ACTIONS.includes(action)
}
