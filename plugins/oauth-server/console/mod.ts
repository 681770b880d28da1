import type { MakePart } from 'patchbay/console'

/** Consent, the user's connected apps, and for administrators the apps of all users. */
export const oauthServer: MakePart = ({ t }) => ({
  plugin: 'oauth-server',
  places: [
    {
      id: 'apps',
      paths: ['/apps'],
      title: () => t('Connected apps'),
      icon: 'plug',
      within: 'keys',
      element: 'pb-page-apps',
      load: () => import('./apps.ts'),
    },
    {
      id: 'clients',
      paths: ['/admin/clients'],
      title: () => t('Apps of all users'),
      icon: 'plug',
      within: 'keys',
      adminOnly: true,
      page: 'apps',
      element: 'pb-page-clients',
      load: () => import('./clients.ts'),
    },
    {
      id: 'consent',
      paths: ['/consent'],
      title: () => t('Connect an app'),
      icon: 'plug',
      page: 'apps',
      isBare: true,
      element: 'pb-consent',
      load: () => import('./consent.ts'),
    },
  ],
})
