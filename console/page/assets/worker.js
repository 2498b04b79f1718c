// The shared worker: hub.js, for all tabs of this origin.

import { Hub } from './parts/hub.js';

const hub = new Hub();
onconnect = (e) => hub.connect(e.ports[0]);
