import type { ServerSettings } from '../../contract/records.ts'
import type { OpenPrograms } from '../../domain/server/programs.ts'
import { validationError } from '../../domain/validation-error.ts'

/**
 * Asks the plugin that stores the program of a server whether the owner may run it: knowing its id does not give access to what
 * another user has sent. The server's previous program stays allowed, regardless of its owner. Throws `validation_failed`,
 * `program_unavailable`.
 */
export async function requireProgram(
  programs: Pick<OpenPrograms, 'of' | 'source'>,
  ownerId: string,
  { config }: Pick<ServerSettings, 'config'>,
  before?: Pick<ServerSettings, 'config'>,
): Promise<void> {
  const program = programs.of(config)
  const stored = before && programs.of(before.config)
  if (!program || (stored?.field === program.field && stored.id === program.id)) return
  const refusal = await programs.source(program).refusal(ownerId, program.id)
  if (refusal) throw validationError([{ pointer: `#/${program.field}`, ...refusal }], 'The server cannot be saved')
}
