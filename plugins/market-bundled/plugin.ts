import { definePlugin } from 'patchbay/contract'
import catalogue from './catalogue.json' with { type: 'json' }
import { bundledTemplates } from './read.ts'

/** The catalogue that is shipped with the hub: exact versions, English and Chinese, no network. */
export default definePlugin({
  name: 'market-bundled',
  contract: 1,
  setup(context) {
    const templates = bundledTemplates(catalogue.templates)
    context.contribute('marketSource', 'bundled', {
      label: 'Bundled',
      refreshMs: 0,
      origin: 'bundled',
      network: false,
      page: async () => ({ templates }),
    })
    return undefined
  },
})
