import { CommandError, readArguments } from './arguments.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf, readLocalFile, SETUP_TOKEN_FILE } from './local-files.ts'

/** The text of `patchbay setup-token --help`. */
export const help = `patchbay setup-token

Prints the token that opens the set-up page, where the first administrator is made. A hub keeps it in its data folder
(DATA_DIR) until that is done.
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  readArguments(argv, { options: {}, positionals: [] })
  const dataDir = dataDirOf(io)
  const token = await readLocalFile(dataDir, SETUP_TOKEN_FILE)
  if (token === undefined) {
    throw new CommandError(
      `There is no set-up token in ${dataDir}: set-up is done, or no hub has run there yet, or its files are not yours to read`,
    )
  }
  io.stdout(`${token}\n`)
  return 0
}
