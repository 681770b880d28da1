import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'

declare module '../../contract/plugin.ts' {
  interface PluginContext<Config> {
    /** Work that is shown to a user before it is done: `context.planned('kit', (actor, inputs) => ({ servers: […] }))`. */
    readonly planned: Planning
  }
}

/** A body as of the API's POST; with `ref` (`name`, or `owner~name`) a merge patch of what is there. */
export type PlannedBody = Readonly<{ body: JsonObject; ref?: string }>

/** A plugin's reading of the inputs, in the order in which it is made. */
export interface PlanDraft {
  readonly servers?: readonly PlannedBody[]
  readonly groups?: readonly PlannedBody[]
  /** `kind`: such as `dashboard`; `body`: as of its POST. */
  readonly records?: readonly Readonly<{ kind: string; body: JsonObject }>[]
  /** Names of required inputs without a value; nothing is made while there is one. */
  readonly missing?: readonly string[]
  /** Sentences for the actor. */
  readonly warnings?: readonly string[]
}

/** `body`: as the API shows it, secrets masked; absent while it depends on missing inputs. */
export type PlannedPart = Readonly<{ ref: string; verdict: 'new' | 'changed'; body?: JsonObject }>

/** Outcome of the work, before or after it is done. `planHash` is equal only for the same draft and the same outcome. */
export type Plan = Readonly<{
  servers: readonly PlannedPart[]
  groups: readonly PlannedPart[]
  records: readonly (PlannedPart & Readonly<{ kind: string }>)[]
  missing: readonly string[]
  warnings: readonly string[]
  planHash: string
}>

/** Work in two steps, in the rights of the actor. Rejects with the errors of the routes. */
export interface PlannedWork<Inputs> {
  /** Changes nothing, and takes no lock. */
  plan(actor: UserActor, inputs: Inputs): Promise<Plan>
  /**
   * All or nothing, in one transaction. Rejects with `plan_changed` when it would not do what that plan has shown, with
   * `validation_failed` without a hash, and while inputs are missing.
   */
  apply(actor: UserActor, planHash: string | undefined, inputs: Inputs): Promise<Plan>
}

/** `what`: a noun for messages. `read` runs at both steps, and changes nothing. Not in `setup`, where it rejects with `starting`. */
export type Planning = <Inputs>(
  what: string,
  read: (actor: UserActor, inputs: Inputs) => PlanDraft | Promise<PlanDraft>,
) => PlannedWork<Inputs>
