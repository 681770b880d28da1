import type { ExtensionPoints, TransportContribution } from '../contract/points.ts'
import type { AttachedSettings } from '../features/attached.ts'
import type { ProgramSource } from '../features/programs.ts'
import type { ServerFieldsInUse } from '../features/server-fields.ts'
import type { PluginHostOptions } from './host-options.ts'
import { ownTables } from './tables/own-tables.ts'

type Contribution = ExtensionPoints[keyof ExtensionPoints] | undefined
type Options = Pick<PluginHostOptions, 'transports' | 'attached'>

/** Has the members of servers and of other things that bundled plugins define, whether they run or not. */
export function declareToServers({
  transports,
  attached,
  bundled,
}: Options & Pick<PluginHostOptions, 'bundled'>): void {
  const { programs, serverFields } = transports
  for (const definition of bundled) {
    programs.declare(definition.name, definition.programs ?? {})
    serverFields.declare(definition.name, definition.serverFields ?? {})
    attached?.declare(definition.name, definition.attachedSettings ?? {})
  }
}

/** Opens transports, programs and fields to servers, and settings beside things. Throws Error for a contribution that is not valid. */
export function openToServers(
  { transports, attached }: Options,
  plugin: string,
  point: string,
  id: string,
  contribution: Contribution,
) {
  if (point === 'transport') transports.add(contribution as TransportContribution)
  if (point === 'programSource') transports.programs.add(plugin, id, contribution as ProgramSource)
  if (point === 'serverFields') transports.serverFields.add(plugin, id, contribution as ServerFieldsInUse)
  if (point === 'attachedSettings')
    attached?.add(plugin, id, contribution as AttachedSettings, store => ownTables(plugin, store))
}

/** Takes them away again. */
export function closeToServers(
  { transports, attached }: Options,
  point: string,
  id: string,
  contribution: Contribution,
): void {
  if (point === 'transport') transports.remove((contribution as TransportContribution).transport)
  if (point === 'programSource') transports.programs.remove(id)
  if (point === 'serverFields') transports.serverFields.remove(id)
  if (point === 'attachedSettings') attached?.remove(id)
}

/** A transport whose module has another specifier at each start of its plugin: the file may have changed meanwhile. */
export function markedTransport(
  contribution: ExtensionPoints[keyof ExtensionPoints],
  start: number,
): TransportContribution {
  const transport = contribution as TransportContribution
  return Object.assign(Object.create(transport), { module: `${transport.module}#${start}` })
}
