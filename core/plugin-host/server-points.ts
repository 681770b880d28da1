import type { ExtensionPoints, TransportContribution } from '../contract/points.ts'
import type { ProgramSource } from '../features/programs.ts'
import type { ServerFieldsInUse } from '../features/server-fields.ts'
import type { PluginHostOptions } from './host-options.ts'

type Contribution = ExtensionPoints[keyof ExtensionPoints] | undefined
type Transports = PluginHostOptions['transports']

/** Has the members of servers that bundled plugins define, whether they run or not. */
export function declareToServers({ programs, serverFields }: Transports, bundled: PluginHostOptions['bundled']): void {
  for (const definition of bundled) {
    programs.declare(definition.name, definition.programs ?? {})
    serverFields.declare(definition.name, definition.serverFields ?? {})
  }
}

/** Opens transports, programs and fields to servers. Throws Error for a contribution that is not valid. */
export function openToServers(
  transports: Transports,
  plugin: string,
  point: string,
  id: string,
  contribution: Contribution,
) {
  if (point === 'transport') transports.add(contribution as TransportContribution)
  if (point === 'programSource') transports.programs.add(plugin, id, contribution as ProgramSource)
  if (point === 'serverFields') transports.serverFields.add(plugin, id, contribution as ServerFieldsInUse)
}

/** Takes them away again. */
export function closeToServers(transports: Transports, point: string, id: string, contribution: Contribution): void {
  if (point === 'transport') transports.remove((contribution as TransportContribution).transport)
  if (point === 'programSource') transports.programs.remove(id)
  if (point === 'serverFields') transports.serverFields.remove(id)
}
