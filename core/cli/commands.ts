import { BUNDLED_COMMANDS } from '../hub/bundled-commands.ts'
import type { CommandModule } from './io.ts'
import { loadPluginCommand } from './plugin-command.ts'

/** A command, whose module is loaded when it runs. */
export interface CommandEntry {
  readonly summary: string
  load(): Promise<CommandModule>
}

/** Every command by its name, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, CommandEntry> = new Map<string, CommandEntry>([
  ['serve', { summary: 'Run the hub (the default)', load: () => import('./serve.ts') }],
  ['import', { summary: 'Take over the settings of a client or of another hub', load: () => import('./import.ts') }],
  ['setup-token', { summary: 'Print the token that opens the set-up page', load: () => import('./setup-token.ts') }],
  ['user', { summary: 'List, add and change users', load: () => import('./user.ts') }],
  ['key', { summary: 'List, create and revoke access keys', load: () => import('./key.ts') }],
  ['servers', { summary: 'List, add, start and stop servers', load: () => import('./servers.ts') }],
  ['groups', { summary: 'List, create and remove groups', load: () => import('./groups.ts') }],
  ...ofPlugins(),
  [
    'connect',
    {
      summary: 'Add a group to an MCP client on this machine, or sign in at a server',
      load: () => import('./connect.ts'),
    },
  ],
  ['call', { summary: 'Call one tool of one server', load: () => import('./call.ts') }],
  ['export', { summary: 'Write your servers and groups to a file for another hub', load: () => import('./export.ts') }],
  ['backup', { summary: 'Write everything to a file', load: () => import('./backup.ts') }],
  ['restore', { summary: 'Put a backup back', load: () => import('./restore.ts') }],
  ['migrate', { summary: 'Move from SQLite to PostgreSQL or back', load: () => import('./migrate.ts') }],
  ['secrets', { summary: 'Seal stored secrets with a new master key', load: () => import('./secrets.ts') }],
  ['doctor', { summary: 'Check this machine, and say how to mend what is wrong', load: () => import('./doctor.ts') }],
  [
    'sample-server',
    { summary: 'Be a small MCP server on standard input and output', load: () => import('./sample-server.ts') },
  ],
])

function ofPlugins(): [string, CommandEntry][] {
  return Object.entries(BUNDLED_COMMANDS).map(([name, kind]) => [
    name,
    { summary: kind.summary, load: () => loadPluginCommand(kind) },
  ])
}
