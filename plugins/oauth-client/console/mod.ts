import type { MakePart } from 'patchbay/console'

/** The user's sign-ins at servers, and the pages to which a sign-in leads. */
export const oauthClient: MakePart = ({ t }) => ({
  plugin: 'oauth-client',
  places: [
    {
      id: 'connections',
      paths: ['/connections'],
      title: () => t('Sign-ins at servers'),
      icon: 'key',
      within: 'servers',
      element: 'pb-page-connections',
      load: () => import('./page.ts'),
    },
    {
      id: 'connect',
      paths: ['/connect/:id'],
      title: () => t('Sign in at a server'),
      icon: 'key',
      page: 'connections',
      isBare: true,
      element: 'pb-connect-server',
      load: () => import('./connect.ts'),
    },
    {
      id: 'callback',
      paths: ['/oauth/callback'],
      title: () => t('Sign in at a server'),
      icon: 'key',
      page: 'connections',
      isBare: true,
      element: 'pb-callback',
      load: () => import('./callback.ts'),
    },
  ],
})
