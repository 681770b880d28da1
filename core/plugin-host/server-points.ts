import type { ExtensionPoints, TransportContribution } from '../contract/points.ts'
import type { ProgramSource } from '../features/programs.ts'
import type { PluginHostOptions } from './host-options.ts'

type Contribution = ExtensionPoints[keyof ExtensionPoints] | undefined
type Transports = PluginHostOptions['transports']

/** Opens transports and programs to servers. Throws Error for a contribution that is not valid. */
export function openToServers(
  transports: Transports,
  plugin: string,
  point: string,
  id: string,
  contribution: Contribution,
) {
  if (point === 'transport') transports.add(contribution as TransportContribution)
  if (point === 'programSource') transports.programs.add(plugin, id, contribution as ProgramSource)
}

/** Takes them away again. */
export function closeToServers(transports: Transports, point: string, id: string, contribution: Contribution): void {
  if (point === 'transport') transports.remove((contribution as TransportContribution).transport)
  if (point === 'programSource') transports.programs.remove(id)
}
