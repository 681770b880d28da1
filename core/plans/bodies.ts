import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { formatRef, nameKey, parseRef, quoteName } from '../domain/names.ts'
import type { Plan, PlanDraft, PlannedBody, PlannedPart } from '../features/services/plans.ts'
import type { TogetherParts } from '../registry/create.ts'
import type { MovingKinds } from '../registry/owned/moving.ts'
import { rowsOf } from './apart/copied-rows.ts'
import { ThingNames } from './apart/thing-names.ts'
import type { Planned } from './planned.ts'
import type { Plans } from './plans.ts'

/** The plan without its hash. */
export type Outline = Omit<Plan, 'planHash'>

/** A part that was made or changed. */
export interface TouchedPart extends Pick<PlannedPart, 'ref' | 'verdict'> {
  /** `server`, `group`, or a kind of records. */
  readonly kind: string
  readonly ownerId: string
}

/** Outcome of work that was done. */
export interface MadeBodies extends Plan {
  readonly touched: readonly TouchedPart[]
}

/** Work that makes and changes servers, groups and records by their bodies. */
export interface BodiesWork<Inputs> {
  /** A noun for messages. */
  readonly what: string
  read(actor: UserActor, inputs: Inputs): PlanDraft | Promise<PlanDraft>
}

/** Plans and does the work on copies of the actor's rows. */
export function plannedBodies<Inputs>(
  plans: Plans,
  records: MovingKinds,
  { what, read }: BodiesWork<Inputs>,
): Planned<Inputs, Outline, MadeBodies> {
  return plans.tried<Inputs, PlanDraft, Outline, MadeBodies>({
    what,
    unready: 'Inputs are missing',
    read: async (actor, inputs) => read(actor, inputs),
    rows: (actor, _, draft) => rowsOf({ ...namesIn(draft).things(actor, []), documentsOf: changedServers(draft) }),
    async attempt(parts, { actor, read: draft }) {
      const run = new BodiesRun(parts, records(parts), actor, draft)
      const shown = await run.run()
      const decides = [{ draft, shown } as unknown as JsonValue]
      return {
        shown,
        missing: shown.missing,
        decides,
        finish: async planHash => ({ ...shown, planHash, touched: run.touched }),
      }
    },
  })
}

function namesIn({ servers = [], groups = [], records = [] }: PlanDraft): ThingNames {
  const names = new ThingNames()
  const parts: readonly PlannedBody[] = [...servers, ...groups, ...records]
  for (const { ref, body } of parts) {
    if (ref !== undefined) names.addRef(ref)
    if (typeof body.name === 'string') names.addThing(body.name)
    names.addRefs(body)
  }
  return names
}

/** The folded names of the servers whose documents may be read. */
function changedServers({ servers = [] }: PlanDraft): readonly string[] {
  return servers.flatMap(({ ref }) => (ref === undefined ? [] : [nameKey(parseRef(ref).name)]))
}

/** One attempt on the parts of a transaction. */
class BodiesRun {
  readonly #parts: TogetherParts
  readonly #records: ReturnType<MovingKinds>
  readonly #actor: UserActor
  readonly #draft: PlanDraft
  readonly touched: TouchedPart[] = []

  constructor(parts: TogetherParts, records: ReturnType<MovingKinds>, actor: UserActor, draft: PlanDraft) {
    this.#parts = parts
    this.#records = records
    this.#actor = actor
    this.#draft = draft
  }

  async run(): Promise<Outline> {
    const { servers = [], groups = [], records = [], missing = [], warnings = [] } = this.#draft
    return {
      servers: await each(servers, part => this.#made(part, () => this.#server(part))),
      groups: await each(groups, part => this.#made(part, () => this.#group(part))),
      records: await each(records, async ({ kind, body }) => ({
        kind,
        ...(await this.#made({ body }, () => this.#record(kind, { body }))),
      })),
      missing,
      warnings,
    }
  }

  /** While inputs are missing, a body that needs them may be invalid. */
  async #made({ ref, body }: PlannedBody, make: () => Promise<PlannedPart>): Promise<PlannedPart> {
    try {
      return await this.#parts.attempt(make)
    } catch (error) {
      const isInvalid = error instanceof HubError && error.code === 'validation_failed'
      if (!isInvalid || (this.#draft.missing ?? []).length === 0) throw error
      const name = ref ?? (typeof body.name === 'string' ? body.name : '')
      return { ref: name, verdict: ref === undefined ? 'new' : 'changed' }
    }
  }

  async #server({ ref, body }: PlannedBody): Promise<PlannedPart> {
    const { servers } = this.#parts.registry
    const made =
      ref === undefined ? await servers.create(this.#actor, body) : await servers.patch(this.#actor, ref, body)
    return this.#part('server', made, ref, servers.publicBody(made))
  }

  async #group({ ref, body }: PlannedBody): Promise<PlannedPart> {
    const { groups } = this.#parts.registry
    const made = ref === undefined ? await groups.create(this.#actor, body) : await groups.patch(this.#actor, ref, body)
    return this.#part('group', made, ref, groups.publicBody(made))
  }

  async #record(kind: string, { body }: PlannedBody): Promise<PlannedPart> {
    const { userId: id, name } = this.#actor
    const records = this.#records.find(each => each.kind.kind === kind)
    if (!records) throw new HubError('validation_failed', `There is no kind of records ${quoteName(kind)}`)
    const prepare = await records.prepare(this.#actor, { id, name }, body)
    const made = await records.settings.create(this.#actor, undefined, prepare)
    const { owner } = made
    return this.#part(kind, { ownerId: owner.id, ownerName: owner.name, name: made.name }, undefined, made.body)
  }

  #part(
    kind: string,
    { ownerId, ownerName, name }: { readonly ownerId: string; readonly ownerName: string; readonly name: string },
    changed: string | undefined,
    body: JsonObject,
  ): PlannedPart {
    const part = { ref: formatRef(ownerName, name), verdict: changed === undefined ? 'new' : 'changed' } as const
    this.touched.push({ kind, ownerId, ...part })
    return { ...part, body }
  }
}

async function each<T, R>(items: readonly T[], make: (item: T) => Promise<R>): Promise<readonly R[]> {
  const made: R[] = []
  for (const item of items) made.push(await make(item))
  return made
}
