import { HubError } from '../../contract/errors.ts'
import type { PluginContext, PluginDefinition } from '../../contract/plugin.ts'

/** Makes the errors of a plugin's own codes. */
export function ownErrors({ name, errors = {} }: PluginDefinition<unknown>): PluginContext<unknown>['error'] {
  return (code, message, options = {}) => {
    const own = Object.hasOwn(errors, code) ? errors[code] : undefined
    if (!own) throw new TypeError(`The definition of plugin "${name}" has no error code "${code}"`)
    return new HubError(code, message, { ...options, own })
  }
}
