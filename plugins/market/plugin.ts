import { definePlugin } from 'patchbay/contract'
import { createMarket } from './create.ts'
import { ERRORS } from './errors.ts'
import { hubSettings } from './hub-settings.ts'
import { KeptLists } from './kept-list.ts'
import { checkOrigin } from './origin-check.ts'
import { addTemplateRoutes } from './routes/templates.ts'
import { addUpgradeRoutes } from './routes/upgrades.ts'
import { marketSettings } from './settings.ts'
import type { TemplateOrigin } from './types.ts'
import { originView } from './views.ts'
import { words } from './words.zh.ts'

/** Templates of servers from many sources: looking for them, installing them, and other versions of what is installed. */
export default definePlugin({
  name: 'market',
  contract: 1,
  claims: ['/api/market/*', '/api/servers/{ref}/upgrade', '/api/servers/{ref}/downgrade'],
  errors: ERRORS,
  words,
  points: { marketSource: { main: true } },
  hubSettings,
  async setup(context) {
    const { servers, log, routes } = context
    const market = createMarket({
      ...{ servers, log },
      kept: new KeptLists(await context.folder()),
      sources: () => context.contributions('marketSource'),
      settings: async () => marketSettings(await context.systemSettings()),
    })
    context.contribute('serverTemplates', 'market', {
      view: template => originView(template as unknown as TemplateOrigin),
      check: checkOrigin,
    })
    context.contribute('builtPage', 'market', { access: 'user' })
    addTemplateRoutes(routes, { market, servers })
    addUpgradeRoutes(routes, { market, servers })
    return () => market.dispose()
  },
})
