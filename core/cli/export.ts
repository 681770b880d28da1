import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import { isJsonObject } from '../contract/json.ts'
import { PASSPHRASE_CHARACTERS } from '../moving/passphrase.ts'
import { CommandError, readArguments } from './arguments.ts'
import { readPassphrase } from './backup.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { plain } from './output.ts'

/** The text of `patchbay export --help`. */
export const help = `patchbay export <file> [--with-secrets]

Writes your servers, groups and settings to a new file, which "patchbay import" of another hub takes. In the place of
each secret stands a mark, and the import asks for it. For the whole of a hub see "patchbay backup".

  --with-secrets   add the secrets, sealed with a passphrase of ${PASSPHRASE_CHARACTERS} characters or more from standard input;
                   needs a sign-in of the last five minutes (PATCHBAY_TOKEN)
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { 'with-secrets': { type: 'boolean' } },
    positionals: ['file'],
  })
  const path = resolve(io.cwd, positionals[0] ?? '')
  const passphrase = values['with-secrets'] ? await readPassphrase(io) : undefined
  const client = await HubClient.connect(io)
  const content = await client.post('/api/export', passphrase === undefined ? {} : { passphrase })
  try {
    await writeFile(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new CommandError(`There is a file ${path} already; it was left as it is`)
    throw new CommandError(`Cannot write ${path}: ${codeOf(error) || String(error)}`, { cause: error })
  }
  const count = (name: string) => Object.keys(isJsonObject(content[name]) ? content[name] : {}).length
  io.stdout(plain(`${count('servers')} servers and ${count('groups')} groups written to ${path}\n`))
  return 0
}
