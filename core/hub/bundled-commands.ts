import { commands as bundles } from '../../plugins/bundles/commands.ts'
import type { CommandKind } from '../features/services/commands.ts'

/** The commands of bundled plugins, by name; a command must not load all plugins. */
export const BUNDLED_COMMANDS: Readonly<Record<string, CommandKind>> = { ...bundles }
