import { quotedWords } from '../domain/text/quoted-words.ts'
import type { CommandKind, Terminal } from '../features/services/commands.ts'
import { CommandError, OUTPUT, readArguments, UsageError } from './arguments.ts'
import { HubClient } from './client.ts'
import type { CommandIo, CommandModule } from './io.ts'
import { plain, printJson } from './output.ts'

/** The module of a plugin's command. */
export async function loadPluginCommand(kind: CommandKind): Promise<CommandModule> {
  const { default: command } = await kind.load()
  const { help, options, positionals } = command
  return {
    help,
    run(argv, io) {
      const line = readArguments(argv, { options: { ...OUTPUT, ...options }, positionals })
      return command.run(line, terminalOf(io))
    },
  }
}

function terminalOf(io: CommandIo): Terminal {
  return {
    cwd: io.cwd,
    print: text => io.stdout(plain(text)),
    printJson: value => printJson(io, value),
    quoted: quotedWords,
    connect: () => HubClient.connect(io),
    misuse: message => new UsageError(message),
    failure: (message, options) => new CommandError(message, options),
  }
}
