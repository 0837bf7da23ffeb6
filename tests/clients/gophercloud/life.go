// Command life takes a server through its life as programs in Go do, by gophercloud.
//
// Who asks, and where, is read from the variables of an openrc. It prints the name of each step that
// went well, and ends with 1 and a message at the first that did not.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/attachinterfaces"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/availabilityzones"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/extendedstatus"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/floatingips"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/instanceactions"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/keypairs"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/limits"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/lockunlock"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/pauseunpause"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/schedulerhints"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/secgroups"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/servergroups"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/startstop"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/suspendresume"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/tags"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/openstack/imageservice/v2/images"
	"github.com/gophercloud/gophercloud/openstack/networking/v2/networks"
)

const (
	name    = "gopher"
	renamed = "badger"
	seconds = 120 // that a state may take
)

// life is what the steps know of the server and of what was made for it.
type life struct {
	compute, image, network *gophercloud.ServiceClient

	imageID, flavorID, networkID string
	largerID                     string // of another flavor
	group                        *servergroups.ServerGroup
	secgroup                     *secgroups.SecurityGroup
	id                           string // of the server
}

func main() {
	log.SetFlags(0)
	l, err := login()
	check("login", err)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"find", l.find},
		{"prepare", l.prepare},
		{"create", l.create},
		{"show", l.show},
		{"list", l.list},
		{"metadata", l.metadata},
		{"tags", l.tags},
		{"power", l.power},
		{"console output", l.consoleOutput},
		{"create image", l.createImage},
		{"security groups", l.securityGroups},
		{"interfaces", l.interfaces},
		{"floating ip", l.floatingIP},
		{"rebuild", l.rebuild},
		{"resize", l.resize},
		{"lock", l.lock},
		{"actions", l.actions},
		{"delete", l.delete},
		{"tidy up", l.tidyUp},
	} {
		check(step.name, step.do())
	}
}

func check(step string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", step, err)
	}
	fmt.Println(step)
}

func login() (*life, error) {
	options, err := openstack.AuthOptionsFromEnv()
	if err != nil {
		return nil, err
	}
	provider, err := openstack.AuthenticatedClient(options)
	if err != nil {
		return nil, err
	}
	region := gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")}
	l := &life{}
	if l.compute, err = openstack.NewComputeV2(provider, region); err != nil {
		return nil, err
	}
	if l.image, err = openstack.NewImageServiceV2(provider, region); err != nil {
		return nil, err
	}
	l.network, err = openstack.NewNetworkV2(provider, region)
	return l, err
}

// at returns the client of Compute at a microversion; without one it is 2.1.
func (l *life) at(microversion string) *gophercloud.ServiceClient {
	client := *l.compute
	client.Microversion = microversion
	return &client
}

func (l *life) find() error {
	pages, err := flavors.ListDetail(l.compute, nil).AllPages()
	if err != nil {
		return err
	}
	sizes, err := flavors.ExtractFlavors(pages)
	for _, flavor := range sizes {
		switch flavor.Name {
		case "m1.tiny":
			l.flavorID = flavor.ID
		case "m1.small":
			l.largerID = flavor.ID
		}
	}
	if err != nil {
		return err
	}
	if pages, err = networks.List(l.network, networks.ListOpts{Name: "private"}).AllPages(); err != nil {
		return err
	}
	nets, err := networks.ExtractNetworks(pages)
	if err != nil {
		return err
	}
	if pages, err = images.List(l.image, images.ListOpts{Name: "tiny"}).AllPages(); err != nil {
		return err
	}
	disks, err := images.ExtractImages(pages)
	if err != nil {
		return err
	}
	if l.flavorID == "" || l.largerID == "" || len(nets) != 1 || len(disks) != 1 {
		return fmt.Errorf(
			"flavors %q, %q, networks %v, images %v", l.flavorID, l.largerID, nets, disks,
		)
	}
	l.networkID, l.imageID = nets[0].ID, disks[0].ID
	if pages, err = availabilityzones.List(l.compute).AllPages(); err != nil {
		return err
	}
	zones, err := availabilityzones.ExtractAvailabilityZones(pages)
	if err == nil && (len(zones) == 0 || !zones[0].ZoneState.Available) {
		return fmt.Errorf("zones: %v", zones)
	}
	return err
}

// prepare makes what the server is to have: a key pair, a security group, a server group.
func (l *life) prepare() error {
	pair, err := keypairs.Create(l.compute, keypairs.CreateOpts{Name: name}).Extract()
	if err != nil {
		return err
	}
	if !strings.Contains(pair.PrivateKey, "PRIVATE KEY") {
		return fmt.Errorf("key pair: %v", pair)
	}
	l.secgroup, err = secgroups.Create(
		l.compute, secgroups.CreateOpts{Name: name, Description: "of a server"},
	).Extract()
	if err != nil {
		return err
	}
	_, err = secgroups.CreateRule(l.compute, secgroups.CreateRuleOpts{
		ParentGroupID: l.secgroup.ID, FromPort: 22, ToPort: 22, IPProtocol: "TCP", CIDR: "0.0.0.0/0",
	}).Extract()
	if err != nil {
		return err
	}
	l.group, err = servergroups.Create(
		l.compute, servergroups.CreateOpts{Name: name, Policies: []string{"anti-affinity"}},
	).Extract()
	return err
}

func (l *life) create() error {
	options := schedulerhints.CreateOptsExt{
		CreateOptsBuilder: keypairs.CreateOptsExt{
			CreateOptsBuilder: servers.CreateOpts{
				Name: name, ImageRef: l.imageID, FlavorRef: l.flavorID,
				Networks:       []servers.Network{{UUID: l.networkID}},
				SecurityGroups: []string{name},
				Metadata:       map[string]string{"colour": "blue"},
				UserData:       []byte("#!/bin/sh\n"),
				Personality:    servers.Personality{{Path: "/etc/motd", Contents: []byte("hello")}},
			},
			KeyName: name,
		},
		SchedulerHints: schedulerhints.SchedulerHints{Group: l.group.ID},
	}
	made, err := servers.Create(l.compute, options).Extract()
	if err != nil {
		return err
	}
	if made.AdminPass == "" {
		return fmt.Errorf("no password of the administrator")
	}
	l.id = made.ID
	return l.reaches("ACTIVE")
}

func (l *life) reaches(status string) error {
	if err := servers.WaitForStatus(l.compute, l.id, status, seconds); err != nil {
		return fmt.Errorf("%s: %w", status, err)
	}
	return nil
}

func (l *life) show() error {
	var shown struct {
		servers.Server
		extendedstatus.ServerExtendedStatusExt
	}
	if err := servers.Get(l.compute, l.id).ExtractInto(&shown); err != nil {
		return err
	}
	if shown.PowerState != extendedstatus.RUNNING || shown.VmState != "active" {
		return fmt.Errorf("state: %v", shown.ServerExtendedStatusExt)
	}
	if shown.Image["id"] != l.imageID || shown.Flavor["id"] != l.flavorID || shown.KeyName != name {
		return fmt.Errorf("not what was asked for: %v", shown.Server)
	}
	if shown.SecurityGroups[0]["name"] != name || shown.Created.IsZero() {
		return fmt.Errorf("not what was asked for: %v", shown.Server)
	}
	pages, err := servers.ListAddresses(l.compute, l.id).AllPages()
	if err != nil {
		return err
	}
	addresses, err := servers.ExtractAddresses(pages)
	if err != nil {
		return err
	}
	if len(addresses["private"]) != 1 {
		return fmt.Errorf("addresses: %v", addresses)
	}
	group, err := servergroups.Get(l.compute, l.group.ID).Extract()
	if err != nil {
		return err
	}
	if len(group.Members) != 1 || group.Members[0] != l.id {
		return fmt.Errorf("members of the server group: %v", group.Members)
	}
	return nil
}

func (l *life) list() error {
	for _, options := range []servers.ListOpts{
		{Name: name}, {Status: "ACTIVE", Limit: 1}, {Image: l.imageID}, {Flavor: l.flavorID},
	} {
		found, err := l.listed(options)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("not among those with %v", options)
		}
	}
	found, err := l.listed(servers.ListOpts{Status: "SHUTOFF"})
	if err == nil && found {
		return fmt.Errorf("is among those that are off")
	}
	return err
}

// listed says whether the server is on one of the pages of a list.
func (l *life) listed(options servers.ListOpts) (bool, error) {
	pages, err := servers.List(l.compute, options).AllPages()
	if err != nil {
		return false, err
	}
	found, err := servers.ExtractServers(pages)
	for _, one := range found {
		if one.ID == l.id {
			return true, nil
		}
	}
	return false, err
}

func (l *life) metadata() error {
	all, err := servers.UpdateMetadata(l.compute, l.id, servers.MetadataOpts{"size": "s"}).Extract()
	if err != nil {
		return err
	}
	if all["colour"] != "blue" || all["size"] != "s" {
		return fmt.Errorf("updated: %v", all)
	}
	one, err := servers.CreateMetadatum(l.compute, l.id, servers.MetadatumOpts{"size": "m"}).Extract()
	if err != nil {
		return err
	}
	if one["size"] != "m" {
		return fmt.Errorf("one: %v", one)
	}
	if err = servers.DeleteMetadatum(l.compute, l.id, "size").ExtractErr(); err != nil {
		return err
	}
	if err = servers.Metadatum(l.compute, l.id, "size").Err; !missing(err) {
		return fmt.Errorf("deleted, and then: %v", err)
	}
	all, err = servers.ResetMetadata(l.compute, l.id, servers.MetadataOpts{"end": "near"}).Extract()
	if err == nil && len(all) != 1 {
		return fmt.Errorf("reset: %v", all)
	}
	return err
}

func missing(err error) bool {
	_, is := err.(gophercloud.ErrDefault404)
	return is
}

func (l *life) tags() error {
	client := l.at("2.26")
	set, err := tags.ReplaceAll(client, l.id, tags.ReplaceAllOpts{Tags: []string{"a", "b"}}).Extract()
	if err != nil {
		return err
	}
	if len(set) != 2 {
		return fmt.Errorf("set: %v", set)
	}
	if err = tags.Add(client, l.id, "c").ExtractErr(); err != nil {
		return err
	}
	if err = tags.Delete(client, l.id, "a").ExtractErr(); err != nil {
		return err
	}
	for tag, expected := range map[string]bool{"a": false, "b": true, "c": true} {
		if has, err := tags.Check(client, l.id, tag).Extract(); err != nil || has != expected {
			return fmt.Errorf("%s: %v, %v", tag, has, err)
		}
	}
	pages, err := servers.List(client, servers.ListOpts{Tags: "b,c"}).AllPages()
	if err != nil {
		return err
	}
	found, err := servers.ExtractServers(pages)
	if err == nil && len(found) != 1 {
		return fmt.Errorf("with both tags: %v", found)
	}
	return err
}

// power lets the server be in every state of its power that there is, and run again.
func (l *life) power() error {
	reboot := func(how servers.RebootMethod) func() error {
		return func() error {
			return servers.Reboot(l.compute, l.id, servers.RebootOpts{Type: how}).ExtractErr()
		}
	}
	for _, turn := range []struct {
		ask    func() error
		status string
	}{
		{func() error { return startstop.Stop(l.compute, l.id).ExtractErr() }, "SHUTOFF"},
		{func() error { return startstop.Start(l.compute, l.id).ExtractErr() }, "ACTIVE"},
		{reboot(servers.SoftReboot), "ACTIVE"},
		{reboot(servers.HardReboot), "ACTIVE"},
		{func() error { return pauseunpause.Pause(l.compute, l.id).ExtractErr() }, "PAUSED"},
		{func() error { return pauseunpause.Unpause(l.compute, l.id).ExtractErr() }, "ACTIVE"},
		{func() error { return suspendresume.Suspend(l.compute, l.id).ExtractErr() }, "SUSPENDED"},
		{func() error { return suspendresume.Resume(l.compute, l.id).ExtractErr() }, "ACTIVE"},
	} {
		if err := turn.ask(); err != nil {
			return fmt.Errorf("to %s: %w", turn.status, err)
		}
		if err := l.reaches(turn.status); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) consoleOutput() error {
	options := servers.ShowConsoleOutputOpts{Length: 5}
	_, err := servers.ShowConsoleOutput(l.compute, l.id, options).Extract()
	return err
}

func (l *life) createImage() error {
	options := servers.CreateImageOpts{Name: name, Metadata: map[string]string{"os_distro": "debian"}}
	id, err := servers.CreateImage(l.compute, l.id, options).ExtractImageID()
	if err != nil {
		return err
	}
	err = gophercloud.WaitFor(seconds, func() (bool, error) {
		image, err := images.Get(l.image, id).Extract()
		return err == nil && image.Status == images.ImageStatusActive, err
	})
	if err != nil {
		return err
	}
	image, err := images.Get(l.image, id).Extract()
	if err != nil {
		return err
	}
	if image.Properties["os_distro"] != "debian" || image.Properties["instance_uuid"] != l.id {
		return fmt.Errorf("properties: %v", image.Properties)
	}
	if err = l.reaches("ACTIVE"); err != nil {
		return err
	}
	return images.Delete(l.image, id).ExtractErr()
}

func (l *life) securityGroups() error {
	if err := secgroups.AddServer(l.compute, l.id, "default").ExtractErr(); err != nil {
		return err
	}
	if err := secgroups.RemoveServer(l.compute, l.id, name).ExtractErr(); err != nil {
		return err
	}
	pages, err := secgroups.ListByServer(l.compute, l.id).AllPages()
	if err != nil {
		return err
	}
	found, err := secgroups.ExtractSecurityGroups(pages)
	if err == nil && (len(found) != 1 || found[0].Name != "default") {
		return fmt.Errorf("of the server: %v", found)
	}
	return err
}

func (l *life) interfaces() error {
	made, err := attachinterfaces.Create(
		l.compute, l.id, attachinterfaces.CreateOpts{NetworkID: l.networkID},
	).Extract()
	if err != nil {
		return err
	}
	if _, err = attachinterfaces.Get(l.compute, l.id, made.PortID).Extract(); err != nil {
		return err
	}
	if err = l.hasInterfaces(2); err != nil {
		return err
	}
	if err = attachinterfaces.Delete(l.compute, l.id, made.PortID).ExtractErr(); err != nil {
		return err
	}
	return l.hasInterfaces(1)
}

func (l *life) hasInterfaces(count int) error {
	return gophercloud.WaitFor(seconds, func() (bool, error) {
		pages, err := attachinterfaces.List(l.compute, l.id).AllPages()
		if err != nil {
			return false, err
		}
		found, err := attachinterfaces.ExtractInterfaces(pages)
		return len(found) == count, err
	})
}

// floatingIP joins one by Compute's own calls, which older programs still make.
func (l *life) floatingIP() error {
	made, err := floatingips.Create(l.compute, floatingips.CreateOpts{Pool: "public"}).Extract()
	if err != nil {
		return err
	}
	err = floatingips.AssociateInstance(
		l.compute, l.id, floatingips.AssociateOpts{FloatingIP: made.IP},
	).ExtractErr()
	if err != nil {
		return err
	}
	joined, err := floatingips.Get(l.compute, made.ID).Extract()
	if err != nil {
		return err
	}
	if joined.InstanceID != l.id {
		return fmt.Errorf("is not of the server: %v", joined)
	}
	err = floatingips.DisassociateInstance(
		l.compute, l.id, floatingips.DisassociateOpts{FloatingIP: made.IP},
	).ExtractErr()
	if err != nil {
		return err
	}
	return floatingips.Delete(l.compute, made.ID).ExtractErr()
}

func (l *life) rebuild() error {
	options := servers.RebuildOpts{ImageRef: l.imageID, Metadata: map[string]string{"again": "yes"}}
	if _, err := servers.Rebuild(l.compute, l.id, options).Extract(); err != nil {
		return err
	}
	if err := l.reaches("ACTIVE"); err != nil {
		return err
	}
	shown, err := servers.Update(l.compute, l.id, servers.UpdateOpts{Name: renamed}).Extract()
	if err == nil && (shown.Name != renamed || shown.Metadata["again"] != "yes") {
		return fmt.Errorf("rebuilt and renamed: %v", shown)
	}
	return err
}

// resize gives it a larger flavor and takes that back, then does so again and keeps it.
func (l *life) resize() error {
	larger := func() error {
		return servers.Resize(l.compute, l.id, servers.ResizeOpts{FlavorRef: l.largerID}).ExtractErr()
	}
	for _, turn := range []struct {
		name           string
		ask            func() error
		status, flavor string
	}{
		{"resize", larger, "VERIFY_RESIZE", l.largerID},
		{"revert", func() error {
			return servers.RevertResize(l.compute, l.id).ExtractErr()
		}, "ACTIVE", l.flavorID},
		{"resize again", larger, "VERIFY_RESIZE", l.largerID},
		{"confirm", func() error {
			return servers.ConfirmResize(l.compute, l.id).ExtractErr()
		}, "ACTIVE", l.largerID},
	} {
		if err := turn.ask(); err != nil {
			return fmt.Errorf("%s: %w", turn.name, err)
		}
		if err := l.reaches(turn.status); err != nil {
			return fmt.Errorf("%s: %w", turn.name, err)
		}
		shown, err := servers.Get(l.compute, l.id).Extract()
		if err != nil {
			return err
		}
		if shown.Flavor["id"] != turn.flavor {
			return fmt.Errorf("%s: flavor %v", turn.name, shown.Flavor)
		}
	}
	return nil
}

func (l *life) lock() error {
	if err := lockunlock.Lock(l.compute, l.id).ExtractErr(); err != nil {
		return err
	}
	if err := lockunlock.Unlock(l.compute, l.id).ExtractErr(); err != nil {
		return err
	}
	return servers.ChangeAdminPassword(l.compute, l.id, "another").ExtractErr()
}

// actions looks at what was done, and at what is counted.
func (l *life) actions() error {
	pages, err := instanceactions.List(l.compute, l.id, nil).AllPages()
	if err != nil {
		return err
	}
	done, err := instanceactions.ExtractInstanceActions(pages)
	if err != nil {
		return err
	}
	first := done[len(done)-1]
	if first.Action != "create" || first.StartTime.IsZero() {
		return fmt.Errorf("first: %v", first)
	}
	if _, err = instanceactions.Get(l.compute, l.id, first.RequestID).Extract(); err != nil {
		return err
	}
	counted, err := limits.Get(l.compute, nil).Extract()
	if err == nil && counted.Absolute.TotalInstancesUsed == 0 {
		return fmt.Errorf("no server is counted")
	}
	return err
}

func (l *life) delete() error {
	if err := servers.Delete(l.compute, l.id).ExtractErr(); err != nil {
		return err
	}
	return gophercloud.WaitFor(seconds, func() (bool, error) {
		err := servers.Get(l.compute, l.id).Err
		if missing(err) {
			return true, nil
		}
		return false, err
	})
}

func (l *life) tidyUp() error {
	if err := keypairs.Delete(l.compute, name).ExtractErr(); err != nil {
		return err
	}
	if err := secgroups.Delete(l.compute, l.secgroup.ID).ExtractErr(); err != nil {
		return err
	}
	return servergroups.Delete(l.compute, l.group.ID).ExtractErr()
}
