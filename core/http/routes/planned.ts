import { z } from 'zod'
import type { UserActor } from '../../contract/records.ts'
import type { PlanMark, Planned } from '../../plans/planned.ts'
import type { Reply } from '../route.ts'
import { flag } from './schemas.ts'

/** The query of a route whose work is planned first. */
export const plannedQuery = z.strictObject({ dryRun: flag })

/** A request to do something that is planned first. */
export interface PlannedRequest<Inputs> {
  readonly actor: UserActor
  readonly inputs: Inputs
  readonly query: z.output<typeof plannedQuery>
  /** The hash that the client sent. */
  readonly planHash: string | undefined
}

/** Makes the answers of plan and result. Without `plan` a plan is answered as it is. */
export interface PlannedReplies<Shown extends object, Made> {
  plan?(shown: Shown & PlanMark): object
  done(made: Made): Reply | Promise<Reply>
}

/** Answers with the plan for `dryRun=true`, and otherwise does what was planned. */
export async function plannedReply<Inputs, Shown extends object, Made>(
  planned: Planned<Inputs, Shown, Made>,
  { actor, inputs, query, planHash }: PlannedRequest<Inputs>,
  replies: PlannedReplies<Shown, Made>,
): Promise<Reply> {
  if (query.dryRun === 'true') {
    const shown = await planned.plan(actor, inputs)
    return { body: replies.plan?.(shown) ?? shown }
  }
  return replies.done(await planned.apply(actor, planHash, inputs))
}
