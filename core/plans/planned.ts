import { createHash } from 'node:crypto'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { quoteName } from '../domain/names.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { validationError } from '../domain/validation-error.ts'

/** Work in two steps: its plan is shown to the actor, and then it is done as it was shown. */
export interface Planned<Inputs, Shown extends object, Made> {
  /** Shows what the work would do. Nothing is changed, and no lock is taken. */
  plan(actor: UserActor, inputs: Inputs): Promise<Shown & PlanMark>
  /**
   * Does the work in one transaction. Throws `plan_changed` when it would not do what the plan with this hash has shown, and
   * `validation_failed` without a hash and while inputs are missing.
   */
  apply(actor: UserActor, planHash: string | undefined, inputs: Inputs): Promise<Made>
}

/** The mark of a plan. */
export interface PlanMark {
  /** Equal only for the same user, inputs and outcome. */
  readonly planHash: string
}

/** Sentences about one kind of work. */
export interface PlanWords {
  /** A noun: `installation`. */
  readonly what: string
  /** The message about missing inputs: `The template cannot be installed`. */
  readonly unready: string
}

/** Result of looking at what inputs ask for. */
export interface Draft<Shown extends object> {
  /** Shown to the actor; secrets are masked. */
  readonly shown: Shown
  /** Everything that decides about the outcome. One piece is hashed in one turn of the event loop. */
  readonly decides: Iterable<JsonValue>
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
  /** Throws another reason why the work is shown, but cannot be done yet. */
  refuse?(): void
}

/** Work whose plan is made by reading alone. */
export interface ReadSource<Inputs, Shown extends object, Made> extends PlanWords {
  /** `make` does the work with one change of the registry, which is one transaction. */
  draft(actor: UserActor, inputs: Inputs): Promise<Draft<Shown> & { make(): Promise<Made> }>
}

/** Work of which both steps read the same: it is planned by reading, and done if the plan is the same again. */
export function plannedByReading<Inputs, Shown extends object, Made>(
  source: ReadSource<Inputs, Shown, Made>,
): Planned<Inputs, Shown, Made> {
  return {
    plan: async (actor, inputs) => withMark(actor, await source.draft(actor, inputs)),
    async apply(actor, planHash, inputs) {
      const seen = requireHash(planHash)
      const draft = await source.draft(actor, inputs)
      await requirePlanned(source, actor, draft, seen)
      return draft.make()
    },
  }
}

/** Returns the shown part of a draft with its hash. */
export async function withMark<Shown extends object>(
  actor: Pick<UserActor, 'userId'>,
  { shown, decides }: Draft<Shown>,
): Promise<Shown & PlanMark> {
  return { ...shown, planHash: await hashOf(actor, decides) }
}

/** Throws for a request to do something whose plan nobody has seen. */
export function requireHash(planHash: string | undefined): string {
  if (planHash !== undefined) return planHash
  const detail = 'Ask with ?dryRun=true, and send its planHash'
  throw validationError([{ pointer: '#/planHash', code: 'required', detail }])
}

/** Throws when the draft cannot be done, or is not what the plan with this hash has shown. */
export async function requirePlanned(
  { what, unready }: PlanWords,
  actor: Pick<UserActor, 'userId'>,
  { missing, decides, refuse }: Draft<object>,
  planHash: string,
): Promise<void> {
  if (missing.length > 0) {
    const errors = missing.map(name => ({
      ...{ pointer: `#/inputs/${pointerToken(name)}`, code: 'required' as const },
      detail: `${quoteName(name)} is missing`,
    }))
    throw validationError(errors, unready)
  }
  refuse?.()
  if ((await hashOf(actor, decides)) !== planHash)
    throw new HubError('plan_changed', `What this ${what} would do is not what was planned`)
}

/** SHA-256 (hex), independent of the order of members. Others are answered between two pieces: one may have 16 MiB. */
async function hashOf({ userId }: Pick<UserActor, 'userId'>, pieces: Iterable<JsonValue>): Promise<string> {
  // Nobody does what only another user was shown.
  const hash = createHash('sha256').update(`${userId}\n`)
  for (const piece of pieces) {
    hash.update(`${canonical(piece)}\n`)
    await nextTurn()
  }
  return hash.digest('hex')
}
