import { hashAccessKey } from '../auth/access-keys.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { nameKey } from '../domain/names.ts'
import type { Things } from '../plans/apart/copied-rows.ts'
import { ThingNames } from '../plans/apart/thing-names.ts'
import { subjectsIn } from './extras/import-shares.ts'
import type { ImportItem, MadeItem } from './import-items.ts'
import type { ImportOptions } from './import-scope.ts'

/** Rows that an import of these items reads and writes. */
export function thingsOfItems(
  items: readonly ImportItem[],
  actor: UserActor,
  { answers, choices, group }: Pick<ImportOptions, 'answers' | 'choices' | 'group'>,
): Things {
  const names = new ThingNames()
  if (group !== undefined) names.addRefs({ group })
  const documentsOf = new Set<string>()
  for (const [name, answer] of Object.entries(answers))
    if (name.startsWith('team:')) names.addSubject(`team:${answer.replace(/^team:/, '')}`)
  for (const item of items) {
    const choice = choices[item.pointer]
    names.addThing(item.name)
    const renamed = typeof choice === 'object' ? choice.rename : undefined
    if (renamed !== undefined) names.addThing(renamed)
    addNamed(names, item, renamed)
    if (item.kind === 'server' && choice === 'replace') documentsOf.add(nameKey(item.name))
  }
  return { ...names.things(actor, []), documentsOf: [...documentsOf] }
}

/** Names that an item has beside its own. */
function addNamed(names: ThingNames, item: ImportItem, renamed: string | undefined): void {
  if (item.kind === 'user') {
    names.addOwner(item.name)
    return names.addOwner(renamed)
  }
  if (item.kind === 'team') return names.addSubject(`team:${renamed ?? item.name}`)
  names.addOwner(item.owner)
  if (item.kind === 'shares') for (const { subject } of item.shares) names.addSubject(subject)
  if (item.kind === 'key') names.addHash(hashAccessKey(item.secret), item.scopes)
  if ('body' in item) names.addRefs(item.body)
}

/** Rows that the rollback of an import reads and writes. `before`: the records that the import replaced. */
export function thingsOfMade(made: readonly MadeItem[], before: readonly JsonValue[], actor: UserActor): Things {
  const names = new ThingNames()
  for (const body of before) names.addRefs(body)
  for (const { kind, name, revision } of made) {
    if (kind === 'team') names.addSubject(`team:${name}`)
    if (kind === 'shares') for (const subject of subjectsIn(revision)) names.addSubject(subject)
  }
  return names.things(actor, [...made.map(({ owner }) => owner), ...made.flatMap(ownIdOf)])
}

/** A user that was made may own something by now. */
function ownIdOf({ kind, id }: MadeItem): readonly string[] {
  return kind === 'user' ? [id] : []
}
