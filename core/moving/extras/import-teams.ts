import { isDeepStrictEqual } from 'node:util'
import type { UserActor } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import type { TeamRecord, TeamSource } from '../../registry/shares-api.ts'
import type { MissingValue } from '../import-items.ts'
import { type ImportResult, type ImportScope, missing, type Of } from '../import-scope.ts'
import type { RollbackParts } from './rollback-parts.ts'
import type { Subjects } from './subjects.ts'

/** Makes a team with the users of the document. A team of this name that is here stays as it is. Throws what the registry throws. */
export async function importTeam(
  scope: ImportScope,
  item: Of<'team'>,
  name: string,
  subjects: Subjects,
  warnings: string[],
): Promise<ImportResult> {
  const { actor, parts, made } = scope
  const { teams } = parts.registry
  const { source } = item
  const members = await membersHere(scope, item, subjects, warnings)
  const shown = { body: source ? { source: { ...source } } : { members } }
  const present = await teams.get(actor, name).catch(missing)
  if (present) return { ...compared(present, { name, members, source }, warnings), ...shown }
  if (source) warnings.push(`Its members come when they sign in by ${quoteName(source.provider)} here`)
  const { id } = await parts.attempt(() => teams.create(actor, name, source ? { source } : { members }))
  made.push({ kind: 'team', id, name, owner: actor.userId, revision: JSON.stringify(source ?? members) })
  return { verdict: 'new', ...shown }
}

/** Names of the local users that the members of a document correspond to; `scope.missing` gets the members without one. */
async function membersHere(
  scope: ImportScope,
  { members }: Of<'team'>,
  subjects: Subjects,
  warnings: string[],
): Promise<string[]> {
  const found = new Set<string>()
  const asked: MissingValue[] = []
  for (const member of members) {
    const subject = await subjects.find(`user:${member}`, warnings)
    if (subject === undefined) asked.push({ name: `user:${member}`, secret: false })
    else if (subject !== null) found.add(subject.slice('user:'.length))
  }
  scope.missing = asked
  return [...found].sort()
}

interface Wanted {
  readonly name: string
  readonly members: readonly string[]
  readonly source: TeamSource | undefined
}

function compared(present: TeamRecord, { name, members, source }: Wanted, warnings: string[]): ImportResult {
  const now = present.source ?? [...(present.members ?? [])].sort()
  if (present.name === name && isDeepStrictEqual(now, source ?? members)) return { verdict: 'same' }
  const other = `There is a team ${quoteName(present.name)} here, which is written otherwise`
  warnings.push(present.name === name ? 'A team of this name is here: its members stay as they are' : other)
  return { verdict: 'exists' }
}

/** Removes a team that an import made, unless its members are others by now. */
export async function undoTeam(
  { registry: { teams } }: RollbackParts,
  actor: UserActor,
  { id, revision }: { readonly id: string; readonly revision: number | string },
): Promise<'changed' | 'gone' | undefined> {
  const team = (await teams.list(actor)).find(one => one.id === id)
  if (!team) return 'gone'
  if (JSON.stringify(team.source ?? [...(team.members ?? [])].sort()) !== revision) return 'changed'
  await teams.remove(actor, team.name)
  return undefined
}
