import { registerIconLibrary } from '@awesome.me/webawesome/dist/components/icon/library.js'
import { keepFocus } from './app/focus-keeper.ts'
import { preferences } from './app/preferences.ts'
import { router } from './app/router.ts'
import { session } from './app/session.ts'
import { setLanguage } from './text/t.ts'
import './app/app.ts'

// The components' own icons would be loaded from another host.
for (const name of ['default', 'system']) {
  registerIconLibrary(name, {
    resolver: icon => `${document.documentElement.dataset.sprite}#${icon}`,
    spriteSheet: true,
  })
}

async function start(): Promise<void> {
  router.listen()
  keepFocus()
  await Promise.all([setLanguage(preferences.language), session.restore()])
  document.body.prepend(document.createElement('pb-app'))
}

void start()
