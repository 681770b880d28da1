import type { CommandKind } from 'patchbay/features'

/** The plugin's commands, by name. */
export const commands: Readonly<Record<string, CommandKind>> = {
  install: { summary: 'Install a bundle (.mcpb) as a server', load: () => import('./install-command.ts') },
}
